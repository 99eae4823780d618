// Keeps the scroll position with each entry of the tab's history, because the browser would restore it before the
// content is loaded, and end at the top.

const DRAWN_MS = 3000;
const KEPT_MS = 100;

export function keepScroll() {
  history.scrollRestoration = "manual";
  let aim = null; // the position to restore, until the content is drawn or the reader scrolls
  let [drawn, still] = [null, null];
  const rest = () => (aim = null);
  const reach = () => aim !== null && scrollTo(0, aim);
  const back = () => {
    aim = history.state?.y ?? null;
    clearTimeout(drawn);
    drawn = setTimeout(rest, DRAWN_MS);
    reach();
  };
  const scrolled = () => {
    clearTimeout(still);
    still = setTimeout(() => aim === null && history.replaceState({ y: scrollY }, ""), KEPT_MS);
  };
  new ResizeObserver(reach).observe(document.body);
  for (const moves of ["wheel", "touchmove", "pointerdown", "keydown"]) addEventListener(moves, rest, { passive: true });
  addEventListener("scroll", scrolled, { passive: true });
  addEventListener("popstate", back);
  back(); // after a reload
}
