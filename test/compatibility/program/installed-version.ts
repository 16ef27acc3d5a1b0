import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The version of a package in the consumer's project. */
export function installedVersion(name: string): string {
  const file = join(process.cwd(), 'node_modules', name, 'package.json');
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
