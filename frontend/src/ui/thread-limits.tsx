import { Fragment } from "preact";
import type { Capture, Device, LimitedBy } from "../contract/report";
import { CAUSES } from "../contract/words";
import { formatDuration } from "../model/format";
import { meaningOfTerm } from "../model/terms";
import { labelOf } from "../model/words";
import { Explained } from "./explained";
import { Prose } from "./prose";

type Row = { readonly name: string; readonly limits: LimitedBy };

/** What limits the causes of a device's idle time; without a device, the data wait and the rest of the window. */
export function ThreadLimits({ capture, device }: { capture: Capture; device?: Device | undefined }) {
  const rows = (device === undefined ? hostRows(capture) : deviceRows(device)).filter(
    ({ limits }) => limits.text !== "",
  );
  if (rows.length === 0) return null;
  return (
    <section>
      <h2>
        <Explained text={meaningOfTerm("limited by") ?? ""}>Limited by</Explained>
      </h2>
      <dl class="thread-limits" data-testid="thread-limits">
        {rows.map(({ name, limits }) => (
          <Fragment key={name}>
            <dt>{name}</dt>
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

function deviceRows({ limited_by_us }: Device): readonly Row[] {
  return Object.entries(limited_by_us).map(([cause, limits]) => ({ name: `Idle: ${labelOf(CAUSES, cause)}`, limits }));
}

function hostRows({ loader, thread_samples }: Capture): readonly Row[] {
  const parts: readonly (readonly [string, LimitedBy | undefined])[] = [
    ["Data wait", loader?.limited_by_us],
    [loader === undefined ? "Training thread, whole window" : "Outside data wait", thread_samples?.host_limited_by_us],
  ];
  return parts.flatMap(([name, limits]) => (limits === undefined ? [] : [{ name, limits }]));
}
