import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';

/** @returns {Promise<Record<string, string>>} the versions of packages that a program in this folder would load */
export async function installedVersions(folder, names = ['@nestjs/core', 'typeorm', 'pg']) {
  const { resolve } = createRequire(join(folder, 'package.json'));
  const version = async (name) => {
    const files = resolve.paths(name).map((parent) => join(parent, name, 'package.json'));
    return JSON.parse(await readFile(files.find(existsSync), 'utf8')).version;
  };
  return Object.fromEntries(await Promise.all(names.map(async (name) => [name, await version(name)])));
}
