import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FROZEN_FOLDER, frozenMigrations } from '../support/frozen-migrations.js';

/** A program: writes the migrations of a workspace, whose folder it is given, from the code that builds their SQL now. */
const [folder] = process.argv.slice(2);
for (const [name, text] of frozenMigrations()) writeFileSync(join(folder!, FROZEN_FOLDER, name), text);
