/** Where the application looks for its database when nothing says otherwise: the usual address of one to develop with. */
export const DEVELOPMENT_URL = 'postgres://postgres:postgres@localhost:5432/postgres';

/** The script that starts a PostgreSQL from npm there, for who has no server. */
export const POSTGRES_SCRIPT = 'saga postgres';
