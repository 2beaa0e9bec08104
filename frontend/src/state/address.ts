// The address that people see, copy and go back in: TensorBoard's own, else that of this page.
//
// TensorBoard keeps what plugins put into its hash as `#data_pipeline&p.data_pipeline.<key>=<value>`. Its plugin library only
// reads them (GetURLPluginData), and answers frames of its own origin alone, where the address itself is at hand. In a
// frame that may not look at TensorBoard's, and in an HTML report, this page's own hash carries `#<key>=<value>&...`.

import type { Fields } from "./place";

export interface Address {
  /** What it says of this page; {} where it says nothing. */
  read(): Fields;
  /** Does nothing while TensorBoard shows another tab. `push` makes an entry that Back returns from. */
  write(fields: Fields, push: boolean): void;
  /** A link that opens `fields` in a browser that knows nothing of this one. */
  link(fields: Fields): string;
}

const PLUGIN = "data_pipeline";
const PREFIX = `p.${PLUGIN}.`;

/** The parts of a hash in TensorBoard's way: one without "=" names the tab. A text that cannot be decoded stays as it is. */
function partsOf(hash: string): ReadonlyArray<readonly [key: string, value: string | null]> {
  return hash
    .replace(/^#/, "")
    .split("&")
    .filter((part) => part !== "")
    .map((part) => {
      const cut = part.indexOf("=");
      return cut < 0 ? [part, null] : [decoded(part.slice(0, cut)), decoded(part.slice(cut + 1))];
    });
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function encoded(key: string, value: string): string {
  return `${encodeURIComponent(key)}=${encodeURIComponent(value)}`;
}

/** The hash of this page alone; also how a place is stored. */
export function ownHash(fields: Fields): string {
  return `#${Object.entries(fields)
    .map(([key, value]) => encoded(key, value))
    .join("&")}`;
}

export function fieldsOfOwnHash(hash: string): Fields {
  return Object.fromEntries(partsOf(hash).filter((part): part is [string, string] => part[1] !== null));
}

/** TensorBoard's hash with ours replaced: settings of its other tabs stay. */
export function hostHash(hash: string, fields: Fields): string {
  const others = partsOf(hash).filter((part): part is [string, string] => part[1] !== null && !isOurs(part[0]));
  const ours = Object.entries(fields).map(([key, value]) => [`${PREFIX}${key}`, value] as const);
  return `#${[PLUGIN, ...[...others, ...ours].map(([key, value]) => encoded(key, value))].join("&")}`;
}

export function fieldsOfHostHash(hash: string): Fields {
  const ours = partsOf(hash).filter((part): part is [string, string] => part[1] !== null && isOurs(part[0]));
  return Object.fromEntries(ours.map(([key, value]) => [key.slice(PREFIX.length), value]));
}

function isOurs(key: string): boolean {
  return key.startsWith(PREFIX);
}

/** Whether TensorBoard shows our tab. */
export function isOurTab(hash: string): boolean {
  return partsOf(hash).some(([key, value]) => value === null && key === PLUGIN);
}

/** Of a window that may be looked at. */
function addressIn(target: Window, hashOf: (fields: Fields) => string, read: (hash: string) => Fields): Address {
  // An absolute address: TensorBoard's <base> would bend a bare "#..." to another page.
  const link = (fields: Fields): string => new URL(hashOf(fields), target.location.href.replace(/#.*$/, "")).href;
  return {
    read: () => read(target.location.hash),
    write: (fields, push) => {
      const href = link(fields);
      if (href !== target.location.href) goTo(target, href, push);
    },
    link,
  };
}

function goTo(target: Window, href: string, push: boolean): void {
  const { history } = target;
  try {
    // The state is TensorBoard's own.
    if (push) history.pushState(history.state, "", href);
    else history.replaceState(history.state, "", href);
  } catch {
    // A browser may refuse: a page opened as a file, or too many calls. Then the address stays.
  }
}

/** The window whose address is TensorBoard's; null where this page stands alone, or may not look. */
function hostWindow(): Window | null {
  try {
    return window.parent !== window && isOurTab(window.parent.location.hash) ? window.parent : null;
  } catch {
    return null;
  }
}

export type Place = { readonly address: Address; readonly target: Window };

/** Asked once, when the page starts: TensorBoard has named our tab in its address by then. */
export function findAddress(): Place {
  const host = hostWindow();
  if (host === null) return { address: addressIn(window, ownHash, fieldsOfOwnHash), target: window };
  const address = addressIn(host, (fields) => hostHash(host.location.hash, fields), fieldsOfHostHash);
  return {
    address: { ...address, write: (fields, push) => isOurTab(host.location.hash) && address.write(fields, push) },
    target: host,
  };
}
