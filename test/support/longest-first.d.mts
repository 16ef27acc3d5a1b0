export const LONGEST: readonly string[];
