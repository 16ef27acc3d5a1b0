/** Packs all packages into a folder. They have to be built. @returns them as dependencies, by their tarballs */
export function packPackages(folder: string): Promise<Record<string, string>>;
