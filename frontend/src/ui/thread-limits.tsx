import { Fragment } from "preact";
import type { Capture, Device, LimitedBy } from "../contract/report";
import { CAUSES } from "../contract/words";
import { asCause, causeParts } from "../model/causes";
import { formatDuration, formatPercent } from "../model/format";
import { meaningOfTerm } from "../model/terms";
import { labelOf } from "../model/words";
import { Explained } from "./explained";
import { Prose } from "./prose";

type Row = { readonly name: string; readonly us: number; readonly limits: LimitedBy };

const HEADING = "What the training thread did meanwhile";

/**
 * What the training thread did in the causes of a device's idle time; without a device, in the data wait and the rest
 * of the window. "Limited by" over a single small cause would read as what limits the loop.
 */
export function ThreadLimits({ capture, device }: { capture: Capture; device?: Device | undefined }) {
  const rows = (device === undefined ? hostRows(capture) : deviceRows(device)).filter(
    ({ limits }) => limits.text !== "",
  );
  if (rows.length === 0) return null;
  const windowUs = capture.window_us ?? 0;
  return (
    <section>
      <h2>
        <Explained text={meaningOfTerm(HEADING) ?? ""}>{HEADING}</Explained>
      </h2>
      <dl class="thread-limits" data-testid="thread-limits">
        {rows.map(({ name, us, limits }) => (
          <Fragment key={name}>
            <dt>
              {name}
              {us < windowUs && `, ${formatPercent(us / windowUs)} of the window`}
            </dt>
            <dd title={gilTitle(limits)}>
              <Prose text={limits.text} />
            </dd>
          </Fragment>
        ))}
      </dl>
    </section>
  );
}

function gilTitle({ gil_error: error }: LimitedBy): string | undefined {
  return error > 0 ? `Time waiting for the GIL: give or take ${formatDuration(error)} (95%)` : undefined;
}

function deviceRows({ limited_by_us, idle_by_cause_us }: Device): readonly Row[] {
  const times = new Map(causeParts(idle_by_cause_us).map(({ cause, us }) => [cause, us]));
  return Object.entries(limited_by_us)
    .map(([cause, limits]) => ({
      name: `Idle: ${labelOf(CAUSES, cause)}`,
      us: times.get(asCause(cause)) ?? 0,
      limits,
    }))
    .sort((one, other) => other.us - one.us);
}

function hostRows({ loader, thread_samples, window_us = 0 }: Capture): readonly Row[] {
  const waitUs = loader?.wait_us ?? 0;
  const parts: readonly (readonly [string, number, LimitedBy | undefined])[] = [
    ["Data wait", waitUs, loader?.limited_by_us],
    [
      loader === undefined ? "Whole window" : "Outside data wait",
      window_us - waitUs,
      thread_samples?.host_limited_by_us,
    ],
  ];
  return parts.flatMap(([name, us, limits]) => (limits === undefined ? [] : [{ name, us, limits }]));
}
