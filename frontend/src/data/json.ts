// Reading untyped JSON without `any`. proto3 JSON may leave out fields that have their default value, and TensorBoard
// writes NaN as the string "NaN": both end here.

export type JsonObject = Readonly<Record<string, unknown>>;

export function asObject(value: unknown): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}

export function has(object: JsonObject, key: string): boolean {
  return object[key] !== undefined && object[key] !== null;
}

export function optNumber(object: JsonObject, key: string): number | undefined {
  const value = object[key];
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

export function number(object: JsonObject, key: string): number {
  return optNumber(object, key) ?? 0;
}

export function optBoolean(object: JsonObject, key: string): boolean | undefined {
  const value = object[key];
  return typeof value === "boolean" ? value : undefined;
}

export function text(object: JsonObject, key: string): string {
  const value = object[key];
  return typeof value === "string" ? value : "";
}

export function list(object: JsonObject, key: string): readonly unknown[] {
  const value = object[key];
  return Array.isArray(value) ? value : [];
}

export function objects<T>(object: JsonObject, key: string, read: (item: JsonObject) => T): T[] {
  return list(object, key).map((item) => read(asObject(item)));
}

export function texts(object: JsonObject, key: string): string[] {
  return list(object, key).filter((item): item is string => typeof item === "string");
}

export function numbers(object: JsonObject, key: string): number[] {
  return list(object, key).map((item) => (typeof item === "number" ? item : 0));
}

export function numberMap(object: JsonObject, key: string): Record<string, number> {
  const entries = Object.entries(asObject(object[key]));
  return Object.fromEntries(entries.filter((entry): entry is [string, number] => Number.isFinite(entry[1])));
}

export function textMap(object: JsonObject, key: string): Record<string, string> {
  const entries = Object.entries(asObject(object[key]));
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === "string"));
}

export function message<T>(object: JsonObject, key: string, read: (item: JsonObject) => T): T | undefined {
  return has(object, key) ? read(asObject(object[key])) : undefined;
}
