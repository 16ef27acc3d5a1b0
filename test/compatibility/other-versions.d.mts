/** A version that an application may have. */
export interface OtherVersion {
  /** The package with its version. */
  readonly installed: string;
  /** The entry of the core that takes the package. */
  readonly entry?: string;
  /** What the entry says of a version that is too old. */
  readonly refused?: RegExp;
}
export const OTHER_VERSIONS: readonly OtherVersion[];
