// Looking up the vocabularies of contract/words.ts, which are Python's.

import { NO_STAGES, TRANSFER_PARTS } from "../contract/words";

export type Term = { readonly id: string; readonly label: string; readonly meaning: string };

/** The id itself where the table lacks it: a newer report may know more words than this page. */
export function labelOf(terms: readonly Term[], id: string): string {
  return terms.find((term) => term.id === id)?.label ?? id;
}

export function meaningOf(terms: readonly Term[], id: string): string {
  return terms.find((term) => term.id === id)?.meaning ?? "";
}

/** A stage is named as in the trace; what data wait goes to besides stages has a label. */
export function stageLabel(name: string): string {
  return labelOf(NO_STAGES, name);
}

/** What a part of the data wait is that is no stage; "" of a stage. */
export function noStageMeaning(name: string): string {
  return meaningOf([...NO_STAGES, ...TRANSFER_PARTS], name);
}
