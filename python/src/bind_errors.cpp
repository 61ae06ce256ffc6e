// Exceptions: the C++ message becomes the Python one.
#include <exception>

#include <nanobind/stl/string.h>

#include "bindings.hpp"
#include "touchstone/base/check.hpp"
#include "touchstone/base/error.hpp"

namespace touchstone::python {
namespace {

PyObject* error_type = nullptr;
PyObject* input_error_type = nullptr;
PyObject* internal_error_type = nullptr;

void translate(const std::exception_ptr& pointer, void* /*payload*/) {
  try {
    std::rethrow_exception(pointer);
  } catch (const InputError& error) {
    PyErr_SetString(input_error_type, error.what());
  } catch (const Error& error) {
    PyErr_SetString(error_type, error.what());
  } catch (const InternalError& error) {
    PyErr_SetString(internal_error_type, error.what());
  }
}

PyObject* add_type(nb::module_& m, const char* name, const char* doc, PyObject* base) {
  const std::string full_name = nb::cast<std::string>(m.attr("__name__")) + "." + name;
  PyObject* type = PyErr_NewExceptionWithDoc(full_name.c_str(), doc, base, nullptr);
  if (type == nullptr) throw nb::python_error();
  m.attr(name) = nb::handle(type);
  return type;
}

}  // namespace

void bind_errors(nb::module_& m) {
  error_type =
      add_type(m, "Error", "Something the caller did wrong; the message says what, and the remedy.", PyExc_ValueError);
  input_error_type = add_type(
      m, "InputError", "A file or a model that cannot be used: file, line, element, value and remedy.", error_type);
  internal_error_type = add_type(m, "InternalError", "A mistake in Touchstone; please report it.", PyExc_RuntimeError);
  nb::register_exception_translator(translate);
}

}  // namespace touchstone::python
