// The glossary, by the words as they stand on the page.

import { TERMS } from "../contract/words";

const MEANINGS: ReadonlyMap<string, string> = new Map(
  TERMS.map(({ label, meaning }) => [label.toLowerCase(), meaning] as const),
);

/** What a head or label means, in one sentence; undefined for what the glossary does not have. */
export function meaningOfTerm(label: string): string | undefined {
  return MEANINGS.get(label.toLowerCase());
}
