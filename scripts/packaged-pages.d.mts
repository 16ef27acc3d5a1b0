/** Each file of the package, by its path in it: the text, or undefined if it is copied as it is. */
export function packagedPages(root: string): Map<string, string | undefined>;
