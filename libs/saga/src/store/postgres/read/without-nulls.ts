/** A record as a statement returns it: a column of an absent field is null. */
export type Nullable<T> = { readonly [Field in keyof T]-?: T[Field] | null };

/** Returns the record of a row: what is null is absent. */
export function withoutNulls<T extends object>(row: Nullable<T>): T {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as T;
}
