import { useEffect, useState } from "preact/hooks";

const NARROW = "(max-width: 700px)";

export function isNarrow(): boolean {
  return window.matchMedia(NARROW).matches;
}

/** Whether the page is as narrow as the style sheet's narrow form, kept up to date. */
export function useNarrow(): boolean {
  const [narrow, setNarrow] = useState(isNarrow);
  useEffect(() => {
    const query = window.matchMedia(NARROW);
    const read = (): void => setNarrow(query.matches);
    query.addEventListener("change", read);
    return () => query.removeEventListener("change", read);
  }, []);
  return narrow;
}
