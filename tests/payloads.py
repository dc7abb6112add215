"""Names that try to be more than names: markup, queries, commands, paths, and what steers screens.

Every one of them is a name that somebody may give to a task, a worker or a flow.
"""

from __future__ import annotations

from itertools import product

SCRIPT = "alert(1)"

HTML = [
    f"<script>{SCRIPT}</script>",
    f"</script><script>{SCRIPT}</script>",
    f"</title><script>{SCRIPT}</script>",
    f"</style><script>{SCRIPT}</script>",
    f"</td></tr></table><script>{SCRIPT}</script>",
    f"<img src=x onerror={SCRIPT}>",
    f"'\"><svg/onload={SCRIPT}>",
    f"\"><body onload='{SCRIPT}'>",
    f"' onmouseover='{SCRIPT}",
    f'" onfocus="{SCRIPT}" autofocus="',
    f"<a href='javascript:{SCRIPT}'>here</a>",
    f"javascript:{SCRIPT}//",
    f"data:text/html,<script>{SCRIPT}</script>",
    "<!--<script>",
    "--><b>",
    "<![CDATA[<b>]]>",
    "<?xml version='1.0'?>",
    "<iframe srcdoc='<b>'></iframe>",
    "<meta http-equiv=refresh content='0;url=http://evil.example'>",
    "<base href=http://evil.example>",
    "<form action=http://evil.example><input name=q>",
    "<style>*{display:none}</style>",
    "<link rel=stylesheet href=//evil.example/x.css>",
    "<object data=x></object>",
    "<math><mi xlink:href='javascript:0'>",
    "<template><b></template>",
    "<textarea>",
    "<plaintext>",
    "&lt;b&gt; &#60;b&#62; &amp;amp;",
    "&#x6A;avascript:0",
    "\u2028</script>\u2029",
    "{{ 7 * 7 }} {% raw %} {# #}",
    "${7*7} #{7*7} <%= 7*7 %> @(7*7)",
    "</SCRIPT\t>",
    "<ScRiPt/src=//evil.example>",
    "＜script＞",
]

SQL = [
    "'; DROP TABLE runs; --",
    '"; DROP TABLE schedules; --',
    "') OR ('1'='1",
    "' UNION SELECT body FROM runs --",
    "'; ATTACH DATABASE '/tmp/x.db' AS x; --",
    "Robert'); DELETE FROM task_records; --",
    "\\'; SELECT pg_sleep(9); --",
    "1; PRAGMA writable_schema=1",
    "%s %(flow)s ? :flow $1 {0}",
    "'||(SELECT 1)||'",
    "/* x */ NULL",
    "``; SHUTDOWN",
    "% _ LIKE '%'",
    "E'\\x00'",
]

SHELL = [
    "$(touch owned)",
    "`touch owned`",
    "; touch owned",
    "| touch owned",
    "&& touch owned",
    "> owned",
    "$HOME ${IFS}",
    "-rf --help -o /tmp/x",
    "--output=owned.html",
    "!! !$",
    "*?[a-z]",
    "~root",
    "%APPDATA% ^& dir",
    "'$(id)'",
    '"$(id)"',
    "\\$(id)",
]

MARKDOWN = [
    "[here](javascript:alert(1))",
    "![x](http://evil.example/x.png)",
    "[x]: http://evil.example",
    "<http://evil.example>",
    "http://evil.example/x",
    "https://evil.example/x?a=1&b=2",
    "www.evil.example",
    "someone@evil.example",
    "ftp://evil.example",
    "`code`",
    "```sh",
    "**bold** __bold__ *i* _i_",
    "~~gone~~",
    "a | b | c",
    "| --- |",
    "# title",
    "> quote",
    "- item",
    "1. item",
    "- [ ] box",
    "***",
    "---",
    "===",
    "a\\|b",
    "a\\",
    "\\",
    "[^1]",
    "$$x^2$$",
    ":smile:",
    "[red]x[/red]",
    "[link=http://evil.example]x[/link]",
    "==mark== ^^up^^ ++in++",
    "<details><summary>x</summary>",
    "|",
    "||||||",
]

PATHS = [
    "../../etc/passwd",
    "..\\..\\windows\\win.ini",
    "/etc/passwd",
    "/tmp/owned.html",
    "~/.ssh/authorized_keys",
    "file:///etc/passwd",
    "C:\\owned",
    "\\\\host\\share",
    "..",
    ".",
    "./-",
    "con.txt:stream",
    "a/b/c",
    "%2e%2e%2fowned",
    "....//....//owned",
    "owned.html\u2024exe",
]

TERMINAL = [
    "\x1b[31mred\x1b[0m",
    "\x1b[2J\x1b[H",
    "\x1b]0;title\x07",
    "\x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\",
    "\x1b]52;c;b3duZWQ=\x07",
    "\x1bP+q544e\x1b\\",
    "\x1b[6n",
    "\x1b[?1049h",
    "\x1bc",
    "\x9b31m",
    "\x9d0;title\x9c",
    "\x08\x08\x08gone",
    "before\rafter",
    "two\nlines",
    "two\r\nlines",
    "\ttab\tbed",
    "\x0b\x0c",
    "\x07bell",
    "\x7f\x7f",
    "\x85next\x85line",
]

UNICODE = [
    "\u202egnp.exe",
    "\u202dforced\u202c",
    "\u2066inside\u2069",
    "\u2067right\u2069",
    "\u2068first\u2069",
    "\u200eleft\u200fright",
    "\u061carabic mark",
    "zero\u200bwidth\u200djoined\u200c",
    "\ufeffmark",
    "a\u0300\u0301\u0302\u0303\u0304",
    "\U000e0041\U000e0042tags",
    "\u00a0\u2003spaces\u3000",
    "שלום עולם",
    "مرحبا",
    "日本語の仕事",
    "\U0001f600\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\ufff9note\ufffa\ufffb",
    "\uffff",
]

ZERO = ["\x00", "a\x00b", "%00", "\\0", "a\x00<b>", "\x00'; DROP TABLE runs; --"]

_CORES = (
    "<b>x</b>",
    "'; DROP TABLE runs; --",
    "$(id)",
    "../x",
    "\x1b[1m",
    "\u202ex",
    "\x00",
    "]]>",
)
_AROUND = ("{}{}", "a{}b{}c", "{}" + 400 * "x" + "{}", " {} {} ", "'{}\"{}")
MIXED = [
    around.format(core, other)
    for around, (core, other) in product(_AROUND, zip(_CORES, _CORES[1:] + _CORES[:1], strict=True))
]

PAYLOADS: tuple[str, ...] = tuple(
    dict.fromkeys([*HTML, *SQL, *SHELL, *MARKDOWN, *PATHS, *TERMINAL, *UNICODE, *ZERO, *MIXED])
)
"""All of them, no two the same."""
