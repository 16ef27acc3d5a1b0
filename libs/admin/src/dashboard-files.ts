import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { Injectable } from '@nestjs/common';
import { actionDialogs } from './dashboard-data.js';
import { FOLDER } from './from-this-folder.cjs';

/** The script that has the dialogs of the operators' calls, made of their table. */
const ACTIONS_SCRIPT = {
  name: 'actions.js',
  content: Buffer.from(`export const ACTIONS = ${JSON.stringify(actionDialogs())};\n`),
};

export interface DashboardFile {
  readonly type: string;
  readonly content: Buffer;
}

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};
const PAGE = 'index.html';

/** What the dashboard consists of, read once: nothing else can be asked for. */
@Injectable()
export class DashboardFiles {
  private readonly files = new Map<string, DashboardFile>();
  private readonly page: string;
  /** A hash of all files, which is part of their addresses, so that browsers may cache them. */
  readonly version: string;

  constructor() {
    const folder = join(FOLDER, 'dashboard');
    const hash = createHash('sha256');
    const found = readdirSync(folder).sort();
    for (const { name, content } of [
      ACTIONS_SCRIPT,
      ...found.map((name) => ({ name, content: readFileSync(join(folder, name)) })),
    ]) {
      const type = TYPES[extname(name)];
      hash.update(name).update(content);
      if (type !== undefined) this.files.set(name, { type, content });
    }
    this.version = hash.digest('hex').slice(0, 16);
    this.page = readFileSync(join(folder, PAGE), 'utf8');
  }

  file(name: string): DashboardFile | undefined {
    return this.files.get(name);
  }

  /** @param base what leads from the page's address to the admin's path: `''`, or its last part */
  index(base: string): string {
    return this.page.replaceAll('{{assets}}', `${base}assets/${this.version}`);
  }
}
