import { useEffect } from "preact/hooks";
import { entry, versionOf } from "../../state/atoms";
import { comparisonKey, watchComparison, watchSuggestion } from "../../state/comparing";

/** Asks what the capture on screen suggests itself to be compared with, and for the comparison of the chosen sides. */
export function useComparison(isWanted = true): void {
  const item = entry.value;
  const [id, version] = [item?.id ?? null, item === null ? "" : versionOf(item)];
  const key = comparisonKey.value;
  useEffect(() => (isWanted && id !== null ? watchSuggestion(id, version) : undefined), [isWanted, id, version]);
  useEffect(() => (isWanted && key !== null ? watchComparison(key) : undefined), [isWanted, key]);
}
