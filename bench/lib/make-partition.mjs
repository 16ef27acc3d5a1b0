const DAY = 86_400_000;

/** The daily partition of each table that contains this moment (ms), as it would have been made on that day. */
export async function makePartition(client, moment) {
  const from = Math.floor(moment / DAY) * DAY;
  const name = new Date(from).toISOString().slice(0, 10).replaceAll('-', '');
  const { rows } = await client.query(
    'SELECT saga.partition_bound($1) AS low, saga.partition_bound($2) AS high',
    [from, from + DAY],
  );
  for (const table of ['instance', 'step', 'signal', 'operation'])
    await client.query(
      `CREATE TABLE saga.${table}_${name} PARTITION OF saga.${table} FOR VALUES FROM ('${rows[0].low}') TO ('${rows[0].high}')`,
    );
}
