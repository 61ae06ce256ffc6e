import { defineConfig, type Plugin } from "vite";

// Puts the scripts and styles of the build into the page, so that one file is all there is.
function singleFile(): Plugin {
  return {
    name: "single-file",
    enforce: "post",
    generateBundle(_options, bundle) {
      const page = bundle["index.html"];
      if (page?.type !== "asset") throw new Error("the build has no index.html");
      let html = String(page.source);
      for (const [name, file] of Object.entries(bundle)) {
        if (file === page) continue;
        const found = new RegExp(`<(script|link)[^>]*"\\./${name}"[^>]*>(</script>)?\\s*`).exec(html);
        if (!found) throw new Error(`index.html does not mention ${name}`);
        const text =
          file.type === "chunk"
            ? `<script type="module">\n${file.code.replaceAll("</script", "<\\/script")}</script>\n`
            : `<style>\n${String(file.source)}</style>\n`;
        // By position, because the text may hold the patterns of String.replace.
        html = html.slice(0, found.index) + text + html.slice(found.index + found[0].length);
        Reflect.deleteProperty(bundle, name);
      }
      page.source = html;
      page.fileName = "viewer.html";
    },
  };
}

export default defineConfig({
  base: "./",
  plugins: [singleFile()],
  build: {
    outDir: "../build/web",
    emptyOutDir: true,
    target: "es2022",
    assetsDir: "",
    cssCodeSplit: false,
    modulePreload: false,
    chunkSizeWarningLimit: 2000,
  },
});
