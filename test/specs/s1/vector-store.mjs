import { sql } from '../application.mjs';

/** Delete the embeddings of a conversation group. */
export async function deleteByConversationGroupId(groupId) {
  await failIfOut(groupId);
  await sql('insert into app.vector_store_deletes values ($1, $2)', groupId, process.pid);
}

/** Put the content of an entry into the index. */
export async function index({ id, indexed_content: content }) {
  await failIfOut(`entry ${id}`);
  await sql('insert into app.vector_store_index values ($1, $2)', id, content);
}

async function failIfOut(subject) {
  const outages = await sql('select from app.vector_store_outages where subject = $1', subject);
  if (outages.length > 0) throw new Error(`the vector store failed for ${subject}`);
}
