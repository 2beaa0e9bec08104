const ELSEWHERE = "input, select, textarea, dialog";

/** Whether a key is for somebody else: a letter that is typed, a key of the browser, or nothing behind is to move. */
export function isElsewhere({ target, ctrlKey, metaKey, altKey }: KeyboardEvent): boolean {
  return ctrlKey || metaKey || altKey || (target instanceof Element && target.closest(ELSEWHERE) !== null);
}
