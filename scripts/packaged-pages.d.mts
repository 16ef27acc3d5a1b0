/** Each file that a package below libs/ has from the repository, by its path in the package: its text. */
export function packagedPages(root: string, name: string): Map<string, string>;
