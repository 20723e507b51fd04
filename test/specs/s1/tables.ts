/** The tables of the store, and of the entries to be indexed in it. */
export const TABLES = `
  create schema app;
  create table app.vector_store_outages (subject text primary key);
  create table app.vector_store_deletes (conversation_group_id text not null, processor integer not null);
  create table app.vector_store_index (entry_id integer primary key, content text not null);
  create table app.entries (id integer primary key, indexed_content text, indexed_at timestamptz);
`;
