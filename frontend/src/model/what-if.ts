// A change that is asked for, as a link and the route's query have it. Pure.

export type Asked = {
  readonly workers: string;
  readonly prefetch: string;
  /** "" = as captured. */
  readonly order: "" | "on" | "off";
  /** Name of a stage, "" for none, and the factor of its time. */
  readonly stage: string;
  readonly factor: string;
};

export const NOTHING_ASKED: Asked = { workers: "", prefetch: "", order: "", stage: "", factor: "0.5" };

/** "workers=4&stage=transform::Blur=0.5x"; "" for the usual changes. */
export function writtenChange({ workers, prefetch, order, stage, factor }: Asked): string {
  const query = new URLSearchParams();
  if (workers !== "") query.set("workers", workers);
  if (prefetch !== "") query.set("prefetch", prefetch);
  if (order !== "") query.set("in_order", order);
  if (stage !== "") query.set("stage", `${stage}=${factor}x`);
  return query.toString();
}

/** Whoever typed it: what is not understood counts as not there. */
export function askedIn(text: string): Asked {
  const query = new URLSearchParams(text);
  const order = query.get("in_order");
  const stage = query.get("stage") ?? "";
  const cut = stage.lastIndexOf("=");
  return {
    workers: query.get("workers") ?? "",
    prefetch: query.get("prefetch") ?? "",
    order: order === "on" || order === "off" ? order : "",
    stage: cut < 0 ? "" : stage.slice(0, cut),
    factor: cut < 0 ? NOTHING_ASKED.factor : stage.slice(cut + 1).replace(/x$/, ""),
  };
}

/** In one line, or null. */
export function problemOf({ workers, prefetch, stage, factor }: Asked): string | null {
  if (!isWhole(workers, 0)) return "DataLoader workers: a whole number from 0 to 64.";
  if (!isWhole(prefetch, 1)) return "prefetch_factor: a whole number from 1 to 64.";
  const times = Number(factor);
  const isFactor = factor.trim() !== "" && times >= 0 && times <= 10;
  return stage !== "" && !isFactor ? "The stage's time: a factor from 0 to 10." : null;
}

function isWhole(text: string, least: number): boolean {
  const number = Number(text);
  return text === "" || (/^\d+$/.test(text) && number >= least && number <= 64);
}
