import { chownSync, constants } from 'node:fs';
import { copyFile, mkdir, readdir, readlink, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

/** What belongs to the running server, or to it alone (PostgreSQL's manual, "Making a Base Backup"). */
const NOT_COPIED = new Set([
  ...['postmaster.pid', 'postmaster.opts', 'postgresql.auto.conf', 'standby.signal', 'backup_label'],
  ...[
    'pg_wal',
    'pg_replslot',
    'pg_dynshmem',
    'pg_notify',
    'pg_serial',
    'pg_snapshots',
    'pg_stat_tmp',
    'pg_subtrans',
  ],
]);

/**
 * A base backup of a running server in an empty folder, which a server can start on as a standby. pg_basebackup is not
 * among the binaries of the npm package. The log since the beginning of the backup is streamed, so it is not copied.
 * @param {{ dataDir: string; url: string }} primary
 * @param {string} folder
 */
export async function copyCluster(primary, folder) {
  const client = new pg.Client({ connectionString: primary.url });
  await client.connect();
  try {
    // What the standby has not received yet is kept for it.
    await client.query(`ALTER SYSTEM SET wal_keep_size = '256MB'`);
    await client.query('SELECT pg_reload_conf()');
    await client.query(`SELECT pg_backup_start('standby', fast => true)`);
    const { uid, gid } = await stat(primary.dataDir);
    const give = (path) => process.getuid?.() === 0 && chownSync(path, uid, gid);
    await copyFolder(primary.dataDir, folder, give, NOT_COPIED);
    const { rows } = await client.query('SELECT labelfile FROM pg_backup_stop(wait_for_archive => false)');
    for (const [name, text] of [
      ['backup_label', rows[0].labelfile],
      ['standby.signal', ''],
    ]) {
      await writeFile(join(folder, name), text, { mode: 0o600 });
      give(join(folder, name));
    }
  } finally {
    await client.end();
  }
}

/** Resolves once a standby receives the log of this primary. */
export async function streamsFrom(primary) {
  const client = new pg.Client({ connectionString: primary.url });
  await client.connect();
  try {
    for (let looks = 0; ; looks += 1) {
      const { rowCount } = await client.query(`SELECT FROM pg_stat_replication WHERE state = 'streaming'`);
      if (rowCount > 0) return;
      if (looks === 600) throw new Error('The standby receives nothing from the primary');
      await sleep(100);
    }
  } finally {
    await client.end();
  }
}

/** A file that the server removes meanwhile is one that the log creates or removes again. */
async function copyFolder(from, to, give, left = new Set()) {
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    try {
      if (entry.isDirectory()) {
        await mkdir(target, { mode: 0o700 });
        give(target);
        if (left.has(entry.name)) await emptyFoldersOf(source, target, give);
        else await copyFolder(source, target, give);
      } else if (entry.isSymbolicLink()) await symlink(await readlink(source), target);
      else if (!left.has(entry.name)) {
        await copyFile(source, target, constants.COPYFILE_FICLONE);
        give(target);
      }
    } catch (error) {
      if (error.code !== 'ENOENT') throw error;
    }
  }
}

/** pg_wal has folders of its own, which the server wants to find. */
async function emptyFoldersOf(from, to, give) {
  for (const entry of await readdir(from, { withFileTypes: true })) {
    if (!entry.isDirectory() || from.endsWith('pg_replslot')) continue;
    await mkdir(join(to, entry.name), { mode: 0o700 });
    give(join(to, entry.name));
  }
}
