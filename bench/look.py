"""The look that all reports share with the viewer and with `touchstone compare`: paper, ink, cards, colours of meaning.

Pictures and tables stand on white cards, so that the colours that are drawn into them stay readable.
"""

META = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
LOOK = """
:root { --page: #fbfaf8; --card: #ffffff; --ink: #22252a; --soft: #676c75; --line: #e4e1da; --good: #1d7a46;
  --bad: #b3261e; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1160px; padding: 40px 24px 56px; background: var(--page); color: var(--ink);
  font: 15px/1.55 system-ui, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: clamp(22px, 6vw, 30px); line-height: 1.2; margin: 0 0 6px; letter-spacing: -0.01em; }
h2 { font-size: 18px; margin: 36px 0 12px; }
p { max-width: 78ch; margin: 0 0 12px; color: var(--soft); }
small, figcaption { color: var(--soft); } figcaption { font-size: 13px; }
table, figure { background: var(--card); border: 1px solid var(--line); border-radius: 12px; }
table { display: block; width: max-content; max-width: 100%; overflow-x: auto; border-collapse: separate;
  border-spacing: 0; margin: 12px 0; padding: 8px 4px; font-variant-numeric: tabular-nums; }
th, td { padding: 5px 12px; text-align: right; border-bottom: 1px solid var(--line); }
tr:last-child td { border-bottom: 0; }
th { color: var(--soft); font-size: 14px; font-weight: 600; }
th:first-child, td:first-child { text-align: left; }
figure { display: inline-block; max-width: 100%; margin: 8px 16px 8px 0; padding: 12px; overflow-x: auto; }
@media (max-width: 640px) { body { padding: 24px 12px 40px; } figure { margin-right: 0; } }
.good { color: var(--good); font-weight: 600; } .slow, .bad { color: var(--bad); font-weight: 600; }
"""
