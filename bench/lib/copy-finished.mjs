/**
 * Copies finished instances by INSERT … SELECT until `rows` exist.
 * @param tables [{ table, fk, set: { column: expression } }], the parent first; null leaves a column to its
 *   default. In expressions m.new_id is the new key, t the row that is copied.
 */
export async function copyFinished(c, { parent, where, key, keyType = 'uuid', tables }, rows) {
  const { rows: found } = await c.query(`SELECT count(*)::int AS n FROM ${parent} t WHERE ${where}`);
  const copies = Math.ceil(rows / found[0].n);
  await c.query(`CREATE TEMP TABLE m AS
    SELECT t.${key} AS old_id, gen_random_uuid()::${keyType} AS new_id
    FROM ${parent} t, generate_series(1, ${copies}) g WHERE ${where} LIMIT ${rows}`);
  await c.query('CREATE INDEX ON m (old_id)');
  await c.query('ANALYZE m');
  for (const { table, fk, set } of tables) {
    const [schema, name] = table.split('.');
    const { rows: columns } = await c.query(
      `SELECT column_name AS name FROM information_schema.columns
       WHERE table_schema = $1 AND table_name = $2 AND is_generated = 'NEVER' AND is_identity = 'NO'
       ORDER BY ordinal_position`,
      [schema, name],
    );
    const used = columns.map((column) => column.name).filter((column) => set[column] !== null);
    const values = used.map((column) => set[column] ?? (column === fk ? 'm.new_id' : `t."${column}"`));
    await c.query(`INSERT INTO ${table} (${used.map((column) => `"${column}"`).join(', ')})
      SELECT ${values.join(', ')} FROM ${table} t JOIN m ON t."${fk}" = m.old_id`);
  }
  return rows;
}
