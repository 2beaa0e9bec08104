import { Fragment } from "preact";
import { exactNumber, exactUs, formatDuration, formatPercent, inUnit, type TimeUnit } from "../model/format";
import { Unknown } from "./numbers";

type Props = {
  readonly us: number | undefined;
  readonly unit: TimeUnit;
  /** Why it is not known. */
  readonly reason: string;
  readonly column?: string;
};

/** A time in its column's unit; exact on hover. */
export function TimeCell({ us, unit, reason, column }: Props) {
  if (us === undefined)
    return (
      <td class="num" data-column={column}>
        <Unknown reason={reason} />
      </td>
    );
  return (
    <td class="num" data-column={column} data-value-us={us} title={exactUs(us)}>
      {inUnit(us, unit)}
    </td>
  );
}

type ShareProps = {
  /** Of 1. */
  readonly share: number | undefined;
  readonly reason?: string;
  readonly column?: string;
};

/** A share of a whole that the head of its column names; exact on hover. */
export function ShareCell({ share, reason = "There is nothing to take a share of.", column }: ShareProps) {
  return (
    <td
      class="num"
      data-column={column}
      data-value={share}
      title={share === undefined ? undefined : `${exactNumber(100 * share)}%`}>
      {share === undefined ? <Unknown reason={reason} /> : formatPercent(share)}
    </td>
  );
}

/** Paths, one a line. */
export function FilesCell({ files, reason }: { readonly files: readonly string[]; readonly reason: string }) {
  return (
    <td class="sample-files" data-column="files">
      {files.length === 0 ? <Unknown reason={reason} /> : files.map((file) => <FilePath key={file} path={file} />)}
    </td>
  );
}

/** Breaks between its folders, before it breaks within a name. */
function FilePath({ path }: { readonly path: string }) {
  const parts = path.split("/");
  return (
    <p>
      {parts.map((part, place) => (
        <Fragment key={place}>
          {place > 0 && "/"}
          {place > 0 && <wbr />}
          {part}
        </Fragment>
      ))}{" "}
    </p>
  );
}

/** Part of what a span took, from which it is said where the timeline's length differs from it. */
const WORTH_SAYING = 0.1;

/** Where the timeline has a longer span than the table's number: what that leaves out. */
export function NotCounted({ spanUs, durationUs }: { readonly spanUs: number; readonly durationUs: number }) {
  const leftOutUs = spanUs - durationUs;
  if (leftOutUs < WORTH_SAYING * durationUs || leftOutUs <= 0) return null;
  return (
    <div class="muted not-counted" data-testid="reading">
      {formatDuration(spanUs)} in the timeline: not counting {formatDuration(leftOutUs)} of waiting for a CPU in
      annotate's own code
    </div>
  );
}

/** A column that CSV has, and neither the screen, which has no room for it, nor Markdown, which is as the screen. */
export function ExportHead({ label }: { readonly label: string }) {
  return (
    <th scope="col" hidden>
      {label}
    </th>
  );
}

type ExportProps = { readonly us?: number | undefined; readonly share?: number | undefined; readonly text?: string };

/** A time, a share of 1, or words. */
export function ExportCell({ us, share, text = "" }: ExportProps) {
  return (
    <td hidden data-value-us={us} data-value={share}>
      {us !== undefined ? exactUs(us) : share !== undefined ? formatPercent(share) : text}
    </td>
  );
}
