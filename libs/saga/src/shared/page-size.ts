/** The items on a page of a list: unless a caller asks for another number, at most, and at most over REST. */
export const PAGE_SIZE = { usual: 50, longest: 1_000, longestOverRest: 200 } as const;
