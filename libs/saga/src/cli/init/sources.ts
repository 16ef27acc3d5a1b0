import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { UsageError } from '../usage-error.js';

/**
 * The texts of the TypeScript files below a folder, without those of packages.
 * @throws UsageError if there is no such folder
 */
export function sourcesOf(folder: string): string[] {
  if (!existsSync(folder))
    throw new UsageError(
      `The folder ${folder} does not exist, but nest-cli.json names it as sourceRoot. Create it or correct nest-cli.json`,
    );
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.name.endsWith('.d.ts'))
    .filter((entry) => !/[\\/]node_modules([\\/]|$)/.test(entry.parentPath.slice(folder.length)))
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'));
}
