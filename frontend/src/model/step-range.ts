// A range of steps as it is written: "3..7", as `tb-dataplugin report --steps` takes it.

export type StepRange = { readonly first: number; readonly last: number };

export function writtenSteps({ first, last }: StepRange): string {
  return `${Math.min(first, last)}..${Math.max(first, last)}`;
}

/** What two fields say, whichever way round; null while they do not hold two whole numbers. */
export function stepsOfFields(first: string, last: string): StepRange | null {
  const [a, b] = [first, last].map((text) => (/^\s*\d{1,9}\s*$/.test(text) ? Number(text) : Number.NaN));
  return a === undefined || b === undefined || Number.isNaN(a + b)
    ? null
    : { first: Math.min(a, b), last: Math.max(a, b) };
}

/** The part of `steps` that there is; null where there is none. */
export function within(steps: StepRange, recorded: StepRange): StepRange | null {
  const first = Math.max(steps.first, recorded.first);
  const last = Math.min(steps.last, recorded.last);
  return first <= last ? { first, last } : null;
}

/** The numbers of steps; null of none. */
export function rangeOf(items: ReadonlyArray<{ readonly number: number }>): StepRange | null {
  const numbers = items.map(({ number }) => number);
  return numbers.length === 0 ? null : { first: Math.min(...numbers), last: Math.max(...numbers) };
}

/** Of what is written: "3..7" in words. */
export function writtenInWords(written: string): string {
  const [first = "", last = first] = written.split("..");
  return stepWords({ first: Number(first), last: Number(last) });
}

export function stepWords({ first, last }: StepRange): string {
  return first === last ? `step ${first}` : `steps ${first} to ${last}`;
}
