import { sql } from '../application.ts';

/** The tables of the store, and of the entries to be indexed in it. */
export const TABLES = `
  create schema app;
  create table app.vector_store_outages (subject text primary key);
  create table app.vector_store_deletes (conversation_group_id text not null, processor integer not null);
  create table app.vector_store_index (entry_id integer primary key, content text not null);
  create table app.entries (id integer primary key, indexed_content text, indexed_at timestamptz);
`;

export interface Entry {
  readonly id: number;
  readonly indexed_content: string;
}

/** Delete the embeddings of a conversation group. */
export async function deleteByConversationGroupId(groupId: string): Promise<void> {
  await failIfOut(groupId);
  await sql('insert into app.vector_store_deletes values ($1, $2)', groupId, process.pid);
}

/** Put the content of an entry into the index. */
export async function index({ id, indexed_content: content }: Entry): Promise<void> {
  await failIfOut(`entry ${id}`);
  await sql('insert into app.vector_store_index values ($1, $2)', id, content);
}

async function failIfOut(subject: string): Promise<void> {
  const outages = await sql('select from app.vector_store_outages where subject = $1', subject);
  if (outages.length > 0) throw new Error(`the vector store failed for ${subject}`);
}
