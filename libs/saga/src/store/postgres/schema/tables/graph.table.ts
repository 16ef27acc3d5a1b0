/** The graphs that were deployed. */
export const graphTable = (schema: string): string[] => [
  // A row for each graph that was deployed. In the newest one of a version, change_accepted lets the next one differ, whatever
  // instances are running. The first revision's row also has how far its instances have been
  // upgraded, and when a process continues with that. A null graph_revision of an instance means the newest of its
  // version.
  `
      CREATE TABLE IF NOT EXISTS ${schema}.graph (
        name text NOT NULL,
        version int NOT NULL,
        revision smallint NOT NULL,
        graph json NOT NULL,
        stored_at timestamptz NOT NULL DEFAULT now(),
        upgrade text,
        upgrade_at timestamptz,
        upgrading boolean NOT NULL DEFAULT false,
        change_accepted boolean NOT NULL DEFAULT false,
        PRIMARY KEY (name, version, revision)
      )`,
];
