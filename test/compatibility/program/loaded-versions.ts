import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DataSource } from 'typeorm';

const PACKAGES = ['@nestjs/core', '@nestjs/typeorm', 'typeorm', 'pg', 'nestjs-durable-saga'];

/** What this process runs on, as the parts themselves tell. */
export async function loadedVersions(dataSource: DataSource): Promise<Record<string, string>> {
  const versions = PACKAGES.map((name) => [name, installed(name)] as const);
  const [{ version }] = await dataSource.query<[{ version: string }]>(
    `SELECT current_setting('server_version') AS version`,
  );
  return { ...Object.fromEntries(versions), node: process.versions.node, postgres: version.split(' ')[0]! };
}

function installed(name: string): string {
  const file = join(process.cwd(), 'node_modules', name, 'package.json');
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
