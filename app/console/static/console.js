// The operator's console: the list of sessions, the overview of the service, and one session with its memory. The URL's
// hash selects the page.

import { html, render, useEffect, useRef, useState } from "./html.js";
import { REFUSED, get, key, mayChange } from "./api.js";
import { KeyAsk, Notice } from "./parts.js";
import { keepScroll } from "./scroll.js";
import { SessionList } from "./sessions.js";
import { SessionPage } from "./session.js";
import { OverviewPage } from "./overview.js";

const SENDABLE = /^[ -~]+$/; // in a header

function place() {
  const [, name = "", tab = "timeline", seqs = ""] = location.hash.replace(/^#/, "").split("/");
  return { name: decoded(name), tab, cite: messages(seqs) };
}

function decoded(name) {
  try {
    return decodeURIComponent(name);
  } catch {
    return name; // typed by hand, with a % that escapes nothing: no session has such a name
  }
}

// The messages to show: cited ones as in `#/chat-7/timeline/12-15`, a page that starts at one as `61-`, or ends at one as
// `-60`. Both are null for the newest page.
function messages(seqs) {
  const [, from, dash, to] = /^(\d*)(-?)(\d*)$/.exec(seqs) ?? [];
  const number = (digits) => Number(digits) || null;
  return { from: number(from), to: number(dash ? to : from) };
}

function usePlace() {
  const [at, setAt] = useState(place());
  useEffect(() => {
    const moved = () => setAt(place());
    addEventListener("hashchange", moved);
    return () => removeEventListener("hashchange", moved);
  }, []);
  return at;
}

function App() {
  const at = usePlace();
  useEffect(() => {
    document.title = at.name ? `${at.name} · Daybook` : "Daybook";
  }, [at.name]);
  const [asked, setAsked] = useState(null); // null: not known yet; false: no key is asked for; an object: one is
  const [failed, setFailed] = useState(null);
  const [status, setStatus] = useState(""); // which sessions are listed
  const show = (name) => {
    setStatus(name);
    document.querySelector("#status").focus();
  };
  const knock = () =>
    get("/sessions", { limit: 1 }).then(
      () => (setAsked(false), setFailed(null)),
      (error) => error.status === 401 || setFailed(error.message),
    );
  useEffect(() => {
    const refused = () => (setFailed(null), setAsked({ wrong: key.get() !== "" }));
    addEventListener(REFUSED, refused);
    knock();
    return () => removeEventListener(REFUSED, refused);
  }, []);
  const shown = failed ? "failure" : asked ? "key" : asked === null ? null : "page";
  const former = useRef(null);
  useEffect(() => {
    // a pressed button that is gone would lose the focus: move it to what replaced the button
    if (former.current) document.querySelector(".alone input, .alone button, main[tabindex]").focus();
    former.current = shown;
  }, [shown]);
  const open = (given) => {
    if (!SENDABLE.test(given)) return setAsked({ wrong: true });
    key.set(given);
    return knock();
  };
  if (failed)
    return html`<main class="alone"><${Notice} kind="error">${failed}<//><button onClick=${knock}>Try again</button></main>`;
  if (asked === null) return html`<main class="alone" aria-busy="true"><p>Loading</p></main>`;
  if (asked)
    return html`<main class="alone">
      <${KeyAsk} wrong=${asked.wrong} onKey=${open} />
    </main>`;
  return html`
    <button class="skip" onClick=${() => document.querySelector("main").focus()}>Skip to content</button>
    <header class="top">
      <a class="brand" href="#/"><img src="console/icon.svg" alt="" width="22" height="22" />Daybook</a>
      <nav aria-label="Service">
        <a href="#/" aria-current=${at.name ? undefined : "page"}>Overview</a>
        <a href="docs">API</a>
        ${!mayChange() && html`<span class="tag" title="The key has scope read">read only</span>`}
        ${key.get() && html`<button class="plain" onClick=${() => (key.forget(), setAsked({ wrong: false }))}>Forget key</button>`}
      </nav>
    </header>
    <div class=${`columns ${at.name ? "chosen" : ""}`}>
      <aside aria-label="Sessions"><${SessionList} chosen=${at.name} status=${status} onStatus=${setStatus} /></aside>
      <main tabindex="-1">
        ${at.name
          ? html`<${SessionPage} key=${at.name} name=${at.name} tab=${at.tab} cite=${at.cite} />`
          : html`<${OverviewPage} onStatus=${show} />`}
      </main>
    </div>
  `;
}

keepScroll();
render(html`<${App} />`, document.getElementById("app"));
