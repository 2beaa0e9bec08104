// Why a number is missing: the diagnostic of its topic, else what the topic's absence means.

import type { Capture } from "../contract/report";
import { TOPICS } from "../contract/words";
import { meaningOf } from "./words";

export type Topic = (typeof TOPICS)[number]["id"];
/** `title` is for where there is little room. */
export type Reason = { readonly title: string; readonly message: string };

/** For what is always known. */
export const NO_REASON: Reason = { title: "", message: "" };

/** The first of the topics that a diagnostic speaks of. */
export function reasonFor({ diagnostics }: Capture, ...topics: readonly [Topic, ...Topic[]]): Reason {
  for (const topic of topics) {
    const found = diagnostics.find((item) => item.topic === topic);
    if (found !== undefined) return { title: found.title || found.message, message: found.message };
  }
  const meaning = meaningOf(TOPICS, topics[0]);
  return { title: meaning, message: meaning };
}
