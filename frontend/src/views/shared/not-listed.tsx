// What a link chose, and the capture on screen does not list: the capture, or its steps, may be others by now.

import type { Capture } from "../../contract/report";
import { findBatch } from "../../model/batches";
import { callKey } from "../../model/calls";
import { exactPosition } from "../../model/format";
import { sampleKey } from "../../model/workers";
import {
  deviceIndex,
  selectedBatch,
  selectedCall,
  selectedGapUs,
  selectedSample,
  shownStage,
  type View,
} from "../../state/atoms";

export function NotListed({ capture, view }: { capture: Capture; view: View }) {
  return wordsOf(capture, view).map((words) => (
    <p key={words} class="muted" role="status" data-testid="not-listed">
      {words}
    </p>
  ));
}

function wordsOf(capture: Capture, view: View): string[] {
  if (view === "workers") return [...batchWords(capture), ...sampleWords(capture)];
  if (view === "stages") return callWords(capture);
  return view === "gaps" ? gapWords(capture) : [];
}

function batchWords(capture: Capture): string[] {
  const key = selectedBatch.value;
  if (key === null || findBatch(capture, key) !== null) return [];
  const [, epoch, , number] = key.split(":");
  const isNumbered = /^\d+$/.test(number ?? "");
  return [`The chosen batch${isNumbered ? ` ${number} of epoch ${epoch}` : ""} is not listed here; none is selected.`];
}

function sampleWords({ slow_samples: samples }: Capture): string[] {
  const key = selectedSample.value;
  if (key === null || samples.some((sample) => sampleKey(sample) === key)) return [];
  return [`The chosen sample ${key.split(":")[0]} is not listed here; none is selected.`];
}

function callWords({ stage_details: details }: Capture): string[] {
  const key = selectedCall.value;
  const calls = details.find(({ name }) => name === shownStage.value)?.slowest ?? [];
  if (key === null || calls.length === 0 || calls.some((call) => callKey(call) === key)) return [];
  return ["The chosen call is not listed here; showing the slowest."];
}

function gapWords({ devices }: Capture): string[] {
  const us = selectedGapUs.value;
  const gaps = devices[deviceIndex.value]?.gaps ?? [];
  if (us === null || gaps.length === 0 || gaps.some(({ start_us: start }) => start === us)) return [];
  return [`The chosen gap at ${exactPosition(us)} is not listed here; showing the longest.`];
}
