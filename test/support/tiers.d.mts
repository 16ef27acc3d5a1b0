export type Tier = 'unit' | 'database' | 'system' | 'slow';
/** The folders of each tier. */
export const TIERS: Readonly<Record<Tier, readonly string[]>>;
/** A regular expression that matches the paths of a tier's specs below `root`, and no others. */
export function specsOf(tier: Tier, root: string): string;
