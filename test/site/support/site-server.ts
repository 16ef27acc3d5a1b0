import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { fileOf } from './links.js';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const SITE = join(ROOT, 'site');
const TYPES: Record<string, string> = {
  '.css': 'text/css',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.md': 'text/markdown; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.woff2': 'font/woff2',
};

/** The site of this work tree: built into a temporary folder and served as static files. */
export class SiteServer {
  folder!: string;
  url!: string;
  private server!: Server;

  /** Must be called in a `describe`. */
  static ofThisBuild(): SiteServer {
    const site = new SiteServer();
    beforeAll(async () => {
      site.folder = await mkdtemp(join(tmpdir(), 'saga-site-'));
      await build(site.folder);
      await site.listen();
    }, 300_000);
    afterAll(async () => {
      site.server?.close();
      await rm(site.folder, { recursive: true, force: true });
    });
    return site;
  }

  /** The paths of all pages except the generated reference. */
  async guide(): Promise<string[]> {
    const index = await readFile(join(this.folder, 'llms.txt'), 'utf8');
    const pages = [...index.matchAll(/\]\((\/[^)]+)\.md\)/g)].map(([, path]) => `${path}.html`);
    return ['/', ...pages];
  }

  private async listen(): Promise<void> {
    this.server = createServer((request, response) => {
      const { pathname } = new URL(request.url!, 'http://localhost');
      const file = fileOf(this.folder, decodeURIComponent(pathname));
      response.writeHead(file === undefined ? 404 : 200, {
        'content-type': TYPES[extname(file ?? '')] ?? 'application/octet-stream',
      });
      if (file === undefined) response.end();
      else createReadStream(join(this.folder, file)).pipe(response);
    });
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    this.url = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }
}

/** As `npm run docs:build`, but into `folder`. Old pages of the reference stay: other specs may read docs/ meanwhile. */
async function build(folder: string): Promise<void> {
  const env = { ...process.env, DOCS_BASE: '/', DOCS_URL: '' };
  const call = (cwd: string, command: string, ...args: string[]) =>
    promisify(execFile)(command, args, { cwd, env, maxBuffer: 1 << 26 });
  await call(SITE, 'npm', 'install', '--no-audit', '--no-fund', '--prefer-offline');
  await call(ROOT, 'npm', 'run', 'docs:api', '--', '--cleanOutputDir', 'false');
  await call(SITE, 'npx', 'vitepress', 'build', '--outDir', folder);
}
