/** The text of the TypeScript module that has the `.sql` files of a folder. */
export function sqlModule(folder: string): string;
