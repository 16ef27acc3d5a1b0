export interface Row {
  readonly name: string;
  readonly set: string;
  readonly node: 20 | 22 | 24;
  readonly postgres: 15 | 18;
  readonly format: 'module' | 'commonjs';
  readonly build: string;
  readonly program?: string;
  readonly between?: 'pgbouncer' | 'losses';
  readonly skipLibCheck?: true;
  readonly without?: readonly string[];
}

export const NODES: Readonly<Record<Row['node'], string>>;
/** Ranges of packages that `peerDependencies` does not name. */
export const FITTING: Readonly<Record<string, string>>;
export const SERVERS: Readonly<
  Record<Row['postgres'], { readonly image: string; readonly embedded: string }>
>;
export const SETS: Readonly<Record<string, Readonly<Record<string, string>>>>;
export const ROWS: readonly Row[];
/** Names of the rows that `.ci/run` tries. */
export const QUICK: readonly string[];
