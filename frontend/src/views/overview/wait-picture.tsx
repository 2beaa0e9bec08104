import type { Capture } from "../../contract/report";
import { formatDuration } from "../../model/format";
import { PictureMenu } from "../../ui/picture-menu";
import { ShareBar } from "../../ui/share-bar";

/** Whether all of the three numbers are known, so that there is a picture, with the sentence below it. */
export function hasWaitPicture({ loader, devices }: Capture): boolean {
  const known = [loader?.exposed_wait_us, loader?.hidden_wait_us, devices[0]?.idle_by_cause_us?.data_wait];
  return (loader?.wait_us ?? 0) > 0 && known.every((us) => us !== undefined);
}

/** Data wait = exposed + hidden; below the exposed part, what of it was the cause that the device was idle. One scale. */
export function WaitPicture({ capture: { loader, devices } }: { capture: Capture }) {
  const [waitUs = 0, exposedUs, hiddenUs] = [loader?.wait_us, loader?.exposed_wait_us, loader?.hidden_wait_us];
  const causedUs = devices[0]?.idle_by_cause_us?.data_wait;
  if (waitUs <= 0 || exposedUs === undefined || hiddenUs === undefined || causedUs === undefined) return null;
  const rows = [
    { name: "Data wait", us: waitUs, parts: [{ name: "data wait", us: waitUs, token: "wait" }] },
    {
      name: "= exposed + hidden",
      us: waitUs,
      parts: [
        { name: "exposed", us: exposedUs, token: "process" },
        { name: "hidden", us: hiddenUs, token: "kernel" },
      ],
    },
    {
      name: "Cause of that idle time",
      us: exposedUs,
      parts: [
        { name: "idle: data wait", us: causedUs, token: "idle:data_wait" },
        { name: "another cause", us: Math.max(0, exposedUs - causedUs), token: "idle:unknown" },
      ],
    },
  ];
  return (
    <figure class="wait-picture" data-testid="wait-picture">
      <figcaption class="table-head">
        <h2>Data wait, exposed and hidden</h2>
        <PictureMenu name="Data wait" />
      </figcaption>
      {rows
        .filter(({ us }) => us > 0)
        .map(({ name, us, parts }) => (
          <WaitRow
            key={name}
            name={name}
            us={us}
            width={us / waitUs}
            parts={parts
              .filter((part) => part.us > 0)
              .map((part) => ({ ...part, name: `${part.name} ${formatDuration(part.us)},` }))}
          />
        ))}
      <p class="muted" data-testid="wait-sentence">
        {loader?.wait_sentence}
      </p>
    </figure>
  );
}

type RowProps = {
  readonly name: string;
  readonly us: number;
  readonly width: number;
  readonly parts: ReadonlyArray<{ readonly name: string; readonly us: number; readonly token: string }>;
};

function WaitRow({ name, us, width, parts }: RowProps) {
  return (
    <>
      <span class="muted">{name}</span>
      <div style={{ width: `${100 * width}%` }}>
        <ShareBar parts={parts} wholeUs={us} of={name} testId="wait-row" />
      </div>
    </>
  );
}
