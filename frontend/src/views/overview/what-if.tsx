import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Capture } from "../../contract/report";
import { source } from "../../data/source";
import { formatPercent } from "../../model/format";
import {
  type Asked,
  askedIn,
  callsOthers,
  NOTHING_ASKED,
  nameOfChange,
  problemOf,
  stagesToChange,
  writtenChange,
} from "../../model/what-if";
import { captureId, isLedToWhatIf, type WhatIfState, whatIfChanges, whatIfs } from "../../state/atoms";
import { askWhatIf, fetchWhatIfs, removeWhatIf, whatIfKey } from "../../state/predicting";
import { Code } from "../../ui/code";
import { Prose } from "../../ui/prose";
import { DocumentLink } from "../shared/document-link";
import { type Answer, Predictions } from "./what-if-table";

/** What other settings, or a faster stage, would bring. Asked for by hand: the trace is read once more for it. */
export function WhatIfPanel({ capture }: { capture: Capture }) {
  const isLive = source().live;
  const changes = isLive ? whatIfChanges.value : [""];
  const asked = changes.map((change) => ({ change, state: whatIfs.value.get(whatIfKey(change)) }));
  const section = useRef<HTMLElement>(null);
  useEffect(() => fetchWhatIfs(changes));
  useEffect(() => {
    if (!isLedToWhatIf.peek() || section.current === null) return;
    isLedToWhatIf.value = false;
    section.current.scrollIntoView({ block: "start" });
  }, []);
  if (capture.mode === "replay" || capture.loader === undefined) return null;
  if (capture.mode === "unannotated" && capture.stages.length === 0) return <Unpredicted />;
  if (!isLive && asked[0]?.state?.kind !== "ready") return <NeedsTrace file={capture.file || capture.name} />;
  return (
    <section data-testid="what-if" ref={section}>
      <h2>What if</h2>
      <p class="muted">
        What other settings, or a faster stage, would bring: predicted from this capture, with a 90% interval. On 36
        pipelines that the model had not seen, half of the predicted steps were off by less than 5%, one in ten by more
        than 19%, most of all with more DataLoader workers (<DocumentLink file="docs/whatif.md" />
        ). The gain of a finding is an upper bound instead, with all that its change may set free.
      </p>
      {isLive && <ChangeForm key={captureId.value} capture={capture} changes={changes} />}
      {isLive && <AskedChanges asked={asked} />}
      {capture.selection !== undefined && (
        <p data-testid="what-if-whole">Predictions are of all steps of the capture, not of the chosen ones.</p>
      )}
      <Predictions answers={asked.flatMap(answerOf)} />
      {!isLive && <Command file={capture.file || capture.name} />}
    </section>
  );
}

type AskedChange = { readonly change: string; readonly state: WhatIfState | undefined };

function answerOf({ change, state }: AskedChange): Answer[] {
  return state?.kind === "ready" ? [{ name: nameOfChange(change), ...state.value }] : [];
}

/** What the table below is of, each with the way to take it away. */
function AskedChanges({ asked }: { asked: readonly AskedChange[] }) {
  if (asked.length === 0) return null;
  return (
    <ul class="what-if-asked" data-testid="what-if-asked" aria-label="Predictions asked for">
      {asked.map(({ change, state }) => (
        <li key={change}>
          {nameOfChange(change)}{" "}
          <button
            type="button"
            class="link"
            aria-label={`Remove ${nameOfChange(change)}`}
            onClick={() => removeWhatIf(change)}>
            Remove
          </button>
          {state !== undefined && <Unready state={state} />}
        </li>
      ))}
    </ul>
  );
}

function Unready({ state }: { state: WhatIfState }) {
  if (state.kind === "ready") return null;
  if (state.kind === "loading") {
    return (
      <p class="muted" role="status">
        Predicting; the first time the trace is read once more.
      </p>
    );
  }
  return (
    <p class="error-line" role="alert" data-testid="what-if-error">
      <Prose text={state.message} />
    </p>
  );
}

/** A report without predictions of this capture. */
function NeedsTrace({ file }: { file: string }) {
  return (
    <section data-testid="what-if">
      <h2>What if</h2>
      <p class="muted">What other settings, or a faster stage, would bring is predicted from the trace:</p>
      <Code text={commandFor(file)} testId="what-if-command" />
    </section>
  );
}

/** Why there is none, and what to do. */
function Unpredicted() {
  return (
    <section data-testid="what-if-unavailable">
      <h2>What if</h2>
      <p class="muted reason">
        Predictions need stage data, and a plain capture has none: pass the loader to <code>annotate.loader</code>, or
        run the program with <code>tb-dataplugin run</code>, and capture again.
      </p>
    </section>
  );
}

/** Where nothing can be asked for. */
function Command({ file }: { file: string }) {
  return (
    <>
      <p class="muted">Other changes:</p>
      <Code text={commandFor(file)} testId="what-if-command" />
    </>
  );
}

function commandFor(file: string): string {
  return `tb-dataplugin whatif ${file} --workers 0..8 --stage NAME=0.5x`;
}

type FormProps = { readonly capture: Capture; readonly changes: readonly string[] };

/** Has the newest change, also one that an address brings; what is typed stays where one is removed. */
function ChangeForm({ capture, changes }: FormProps) {
  const newest = changes[0] ?? "";
  const wanted = useSignal(askedIn(newest));
  const before = useRef(changes);
  useEffect(() => {
    if (changes.length > 0 && !before.current.includes(newest)) wanted.value = askedIn(newest);
    before.current = changes;
  }, [changes]);
  const { num_workers: workers, prefetch_factor: prefetch, batch_size: batch } = capture.loader ?? {};
  const names = stagesToChange(capture.stages);
  const problem = problemOf(wanted.value);
  const isNothing = writtenChange(wanted.value) === writtenChange(NOTHING_ASKED);
  const set = (part: Partial<Asked>): void => {
    wanted.value = { ...wanted.value, ...part };
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    if (problem === null) askWhatIf(writtenChange(wanted.value));
  };
  return (
    <form class="step-fields what-if-fields" data-testid="what-if-form" onSubmit={submit}>
      <NumberField
        label="DataLoader workers"
        now={workers}
        several="0..8"
        text={wanted.value.workers}
        set={(text) => set({ workers: text })}
      />
      <NumberField
        label="prefetch_factor"
        now={prefetch}
        text={wanted.value.prefetch}
        set={(text) => set({ prefetch: text })}
      />
      <label>
        in_order{" "}
        <select value={wanted.value.order} onChange={(event) => set({ order: orderOf(event.currentTarget.value) })}>
          <option value="">as captured</option>
          <option value="on">True</option>
          <option value="off">False</option>
        </select>
      </label>
      <NumberField
        label="Samples per batch"
        now={batch}
        text={wanted.value.batch}
        set={(text) => set({ batch: text })}
      />
      <Tick label="pin_memory" testId="what-if-pin" on={wanted.value.pinned} set={(pinned) => set({ pinned })} />
      <label>
        Stage{" "}
        <select
          data-testid="what-if-stage"
          value={wanted.value.stage}
          onChange={(event) => set({ stage: event.currentTarget.value })}>
          <option value="">none</option>
          {(workers ? [...names, "transfer"] : names).map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      {wanted.value.stage !== "" && (
        <Tick label="on the device" testId="what-if-move" on={wanted.value.moved} set={(moved) => set({ moved })} />
      )}
      {wanted.value.stage !== "" && !wanted.value.moved && (
        <label>
          takes{" "}
          <input
            type="range"
            min="0"
            max="2"
            step="0.05"
            value={wanted.value.factor}
            onInput={(event) => set({ factor: event.currentTarget.value })}
          />{" "}
          <span class="tabular">{formatPercent(Number(wanted.value.factor))}</span> of its{" "}
          {callsOthers(wanted.value.stage) && "self "}time
        </label>
      )}
      <button type="submit" disabled={problem !== null}>
        Predict
      </button>
      {changes.length > 0 && !changes.includes("") && (
        <button type="button" onClick={() => askWhatIf("")}>
          The usual changes
        </button>
      )}
      <span class={problem === null ? "muted" : "error-line"} role="status">
        {problem ?? (isNothing ? "Nothing chosen: Predict shows the usual changes." : "")}
      </span>
    </form>
  );
}

function orderOf(text: string): Asked["order"] {
  return text === "on" || text === "off" ? text : "";
}

type FieldProps = {
  readonly label: string;
  /** Of the capture itself. */
  readonly now: number | undefined;
  /** How several are typed, where they may be. */
  readonly several?: string;
  readonly text: string;
  readonly set: (text: string) => void;
};

function NumberField({ label, now, several, text, set }: FieldProps) {
  const example = [now === undefined ? "" : String(now), several ?? ""].filter(Boolean).join(" or ");
  return (
    <label>
      {label}{" "}
      <input
        type="text"
        inputMode="numeric"
        size={several === undefined ? 6 : 8}
        placeholder={example}
        data-testid={`what-if-${label}`}
        value={text}
        onInput={(event) => set(event.currentTarget.value.trim())}
      />
    </label>
  );
}

type TickProps = {
  readonly label: string;
  readonly testId: string;
  readonly on: boolean;
  readonly set: (on: boolean) => void;
};

function Tick({ label, testId, on, set }: TickProps) {
  return (
    <label class="nowrap tick">
      <input type="checkbox" data-testid={testId} checked={on} onChange={(event) => set(event.currentTarget.checked)} />{" "}
      {label}
    </label>
  );
}
