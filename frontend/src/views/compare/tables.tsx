import type { Comparison, PartDifference, SettingChange } from "../../contract/report";
import { chooseTimeUnit, formatChange, formatInterval } from "../../model/format";
import { TimeCell } from "../../ui/cells";
import { Unknown } from "../../ui/numbers";

function sizeOf({ before_us = 0, after_us = 0 }: PartDifference): number {
  return Math.max(before_us, after_us);
}

/** Parts of the time, then data wait by stage; each by size. */
export function PartTable({ comparison: { parts, unit: per } }: { comparison: Comparison }) {
  const known = parts
    .filter((part) => sizeOf(part) > 0)
    .toSorted((a, b) => Number(a.by_stage) - Number(b.by_stage) || sizeOf(b) - sizeOf(a));
  if (known.length === 0) return null;
  const unit = chooseTimeUnit(known.flatMap((part) => [part.before_us, part.after_us]));
  return (
    <table class="parts compare-parts" data-testid="part-changes">
      <caption>What the time per {per} went to</caption>
      <thead>
        <tr>
          <th scope="col" class="parts-name">
            Part
          </th>
          <th scope="col" class="num">
            Before<span class="unit">, {unit}</span>
          </th>
          <th scope="col" class="num">
            After<span class="unit">, {unit}</span>
          </th>
          <th scope="col" class="num" title="As a share of the whole time before">
            of before
          </th>
        </tr>
      </thead>
      <tbody>
        {known.map((part) => (
          <tr key={part.name} data-testid="part-change" data-part={part.name}>
            <th scope="row" class="parts-name" title={part.title}>
              {part.title}
            </th>
            <TimeCell us={part.before_us} unit={unit} reason="Not recorded before." />
            <TimeCell us={part.after_us} unit={unit} reason="Not recorded after." />
            <td class="num" title={formatInterval(part.low, part.high)}>
              {part.change === undefined ? <Unknown reason="Not known on both sides." /> : formatChange(part.change)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function SettingTable({ settings }: { settings: readonly SettingChange[] }) {
  return (
    <section>
      <h2>Settings that changed</h2>
      {settings.length === 0 ? (
        <p class="muted" data-testid="no-settings">
          No recorded setting changed.
        </p>
      ) : (
        <table class="settings" data-testid="setting-changes">
          <thead>
            <tr>
              <th scope="col">Setting</th>
              <th scope="col">Before</th>
              <th scope="col">After</th>
            </tr>
          </thead>
          <tbody>
            {settings.map(({ name, title, before, after }) => (
              <tr key={name} data-testid="setting-change" data-setting={name}>
                <th scope="row">{title}</th>
                <td>{before}</td>
                <td>{after}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
