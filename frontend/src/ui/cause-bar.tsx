import type { Device } from "../contract/report";
import { CAUSES } from "../contract/words";
import { asCause, type Cause, type CausePart, causeParts, causeToken, type Part } from "../model/causes";
import { chooseTimeUnit, exactUs, formatDuration, inUnit, type TimeUnit } from "../model/format";
import { deviceName } from "../model/parts";
import { shareWords } from "../model/shares";
import { meaningOf } from "../model/words";
import { PictureMenu } from "./picture-menu";
import { ShareBar } from "./share-bar";
import { fillClass, fillStyle, Swatch } from "./swatch";

type Props = {
  readonly device: Device;
  readonly windowUs: number | undefined;
  /** With it the causes can be chosen. */
  readonly chosen?: Cause | null;
  readonly choose?: (cause: Cause | null) => void;
};

/** The window of one device as one bar: busy, then idle by cause; and each piece with its numbers. */
export function CauseBar({ device, windowUs, chosen = null, choose }: Props) {
  const causes = causeParts(device.idle_by_cause_us);
  if (causes.length === 0) return null;
  const wholeUs = windowUs ?? device.busy_us + device.idle_us;
  const busy: Part = { name: "busy", us: device.busy_us, token: "kernel" };
  const unit = chooseTimeUnit([device.busy_us, device.idle_us]);
  return (
    <figure class="cause-bar">
      <figcaption>
        <h2>Where the window went: {deviceName(device)}</h2>
        <span class="muted">
          {formatDuration(device.busy_us)} busy, {formatDuration(device.idle_us)} idle, of {formatDuration(wholeUs)}
          {device.idle_note && `; ${device.idle_note}`}
        </span>
        <PictureMenu name={`Where the window went ${deviceName(device)}`} />
      </figcaption>
      <ShareBar
        parts={[busy, ...causes.map((part) => ({ ...part, name: `idle: ${part.name}` }))]}
        wholeUs={wholeUs}
        of="the window"
        testId="cause-bar">
        <ul class="causes" data-testid="idle-by-cause">
          <li class="cause" title="Kernels, copies and memory sets on the device">
            <Numbers part={busy} unit={unit} wholeUs={wholeUs} division={busyDivision(device, wholeUs)} />
          </li>
          {causes.map((part) => (
            <CauseItem
              key={part.cause}
              part={part}
              unit={unit}
              wholeUs={wholeUs}
              device={device}
              pressed={chosen === part.cause}
              {...(choose === undefined ? {} : { choose })}
            />
          ))}
        </ul>
      </ShareBar>
    </figure>
  );
}

type ItemProps = {
  readonly part: CausePart;
  readonly unit: TimeUnit;
  readonly wholeUs: number;
  readonly device: Device;
  readonly pressed: boolean;
  readonly choose?: (cause: Cause | null) => void;
};

function CauseItem({ part, unit, wholeUs, device, pressed, choose }: ItemProps) {
  const title = `${meaningOf(CAUSES, part.cause)}${queuedWords(part, device)}`;
  const numbers = (
    <Numbers part={part} unit={unit} wholeUs={wholeUs} division={launchDivision(part, device, wholeUs)} />
  );
  if (choose === undefined)
    return (
      <li class="cause" title={title}>
        {numbers}
      </li>
    );
  return (
    <li>
      <button
        type="button"
        class="cause"
        title={`${title} Shows these gaps.`}
        aria-pressed={pressed}
        data-testid="cause-filter"
        data-cause={part.cause}
        onClick={() => choose(pressed ? null : part.cause)}>
        {numbers}
      </button>
    </li>
  );
}

const WORTH_A_WORD = 0.01;

/** Copies keep a device busy that computes nothing meanwhile. */
function busyDivision({ busy_us: busyUs, kernel_busy_us: kernelUs }: Device, wholeUs: number): string {
  if (kernelUs === undefined || busyUs - kernelUs < WORTH_A_WORD * wholeUs) return "";
  return `kernels ${shareWords(kernelUs, wholeUs)}, copies and memory sets alone ${shareWords(busyUs - kernelUs, wholeUs)}`;
}

function launchDivision({ cause, us }: CausePart, { idle_queued_us: queuedUs }: Device, wholeUs: number): string {
  if (cause !== "launch" || queuedUs === undefined || queuedUs === 0) return "";
  return `${shareWords(us - queuedUs, wholeUs)} launched late, ${shareWords(queuedUs, wholeUs)} launched but not started`;
}

/** Launched in time, and yet the device was idle: not the host's fault. */
function queuedWords({ cause }: CausePart, { idle_queued_us: queued }: Device): string {
  if (cause !== "launch" || queued === undefined || queued === 0) return "";
  return ` For ${formatDuration(queued)} of it what runs next had been launched (its call had returned), and had not started; for the rest it was launched late.`;
}

type NumbersProps = {
  readonly part: Part;
  readonly unit: TimeUnit;
  readonly wholeUs: number;
  /** What it consists of; "" where nothing is to be said. */
  readonly division: string;
};

function Numbers({ part, unit, wholeUs, division }: NumbersProps) {
  return (
    <>
      <span class="cause-name">
        <Swatch token={part.token} />
        {part.name}
      </span>
      <span class="cause-share tabular" data-value={part.us} data-token={part.token}>
        {shareWords(part.us, wholeUs)}
      </span>
      <span class="cause-note tabular" title={exactUs(part.us)}>
        {inUnit(part.us, unit)} {unit}
        {division && `: ${division}`}
      </span>
    </>
  );
}

/** How one gap divides, as a thin bar beside its main cause. */
export function GapCauses({ cause, parts, wholeUs }: { cause: string; parts: readonly CausePart[]; wholeUs: number }) {
  const main = asCause(cause);
  const shown: readonly Part[] = parts.length > 0 ? parts : [{ name: "", us: wholeUs, token: causeToken(main) }];
  return (
    <span class="mini-bar" aria-hidden="true">
      {shown.map((part) => (
        <span key={part.token} class={fillClass(part.token)} style={{ ...fillStyle(part.token), flexGrow: part.us }} />
      ))}
    </span>
  );
}
