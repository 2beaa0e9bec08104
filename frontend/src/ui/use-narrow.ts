import { useEffect, useState } from "preact/hooks";

const NARROW = "(max-width: 700px)";

/** Whether the page is as narrow as the style sheet's narrow form, kept up to date. */
export function useNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(() => window.matchMedia(NARROW).matches);
  useEffect(() => {
    const query = window.matchMedia(NARROW);
    const read = (): void => setNarrow(query.matches);
    query.addEventListener("change", read);
    return () => query.removeEventListener("change", read);
  }, []);
  return isNarrow;
}
