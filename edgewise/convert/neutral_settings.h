// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

// The settings in files of other systems that an import ignores on purpose, because they do not change translations:
// names with spaces between them. The importers use each other setting that they know, or refuse it by name if its
// value has no counterpart in Edgewise, and refuse settings that they do not know.

namespace edgewise {

/// Members of config.json that do not change what a model computes: names, those of training and of outputs, and those
/// that MarianMTModel and M2M100ForConditionalGeneration do not read.
inline constexpr std::string_view kNeutralMembers =
    "attn_implementation chunk_size_feed_forward classif_dropout classifier_dropout decoder_layerdrop dtype "
    "encoder_layerdrop extra_pos_embeddings finetuning_task gradient_checkpointing id2label init_std label2id "
    "model_name name_or_path num_hidden_layers num_labels output_attentions output_hidden_states output_past "
    "problem_type return_dict sep_token_id task_specific_params tf_legacy_loss tokenizer_class torch_dtype torchscript "
    "transformers_version use_bfloat16 use_cache";

/// Further members of the config.json of language models: those of training, of models that classify, of other
/// programs, and defaults of generate() in older files.
inline constexpr std::string_view kNeutralCausalMembers =
    "do_sample initializer_range is_llama_config length_penalty max_length min_length n_ctx no_repeat_ngram_size "
    "num_beams pretraining_tp reorder_and_upcast_attn repetition_penalty summary_activation summary_first_dropout "
    "summary_proj_to_labels summary_type summary_use_proj transformers.js_config";

/// Members of generation_config.json that do not change the outputs of greedy and beam search.
inline constexpr std::string_view kNeutralSearchMembers =
    "assistant_confidence_threshold assistant_early_exit assistant_lookbehind cache_config "
    "cache_implementation compile_config continuous_batching_config disable_compile epsilon_cutoff eta_cutoff "
    "is_assistant low_memory max_matching_ngram_size min_p num_assistant_tokens num_assistant_tokens_schedule "
    "output_attentions output_hidden_states output_logits output_scores prefill_chunk_size "
    "return_dict_in_generate target_lookbehind temperature top_h top_k top_p transformers_version typical_p "
    "use_cache";

/// Members of tokenizer_config.json that change neither the tokens of a text nor, except for spaces before marks, the
/// text of tokens.
inline constexpr std::string_view kNeutralTokenizerMembers =
    "additional_special_tokens added_tokens_decoder auto_map backend bos_token chat_template "
    "clean_up_tokenization_spaces cls_token eos_token extra_special_tokens is_local language_codes "
    "local_files_only mask_token model_input_names name_or_path num_madeup_words pad_token padding_side "
    "processor_class return_attention_mask sep_token source_lang sp_model_file special_tokens_map_file "
    "spm_file target_lang tokenizer_class tokenizer_file transformers_version truncation_side unk_token "
    "use_fast vocab_file src_lang tgt_lang";

/// Members of config.json: alignments, and the form of weights that are not quantised by groups.
inline constexpr std::string_view kNeutralConfigMembers = "alignment_heads quantization_bits quantization_group_size";

/// Options of training, of recurrent networks and of averaged attention, which a Transformer with self-attention does
/// not read, and sizes that the arrays have.
inline constexpr std::string_view kNeutralModelOptions =
    "char-convs char-highway char-stride dec-cell dec-cell-base-depth dec-cell-high-depth dim-rnn dim-vocabs "
    "enc-cell enc-cell-depth enc-type layer-normalization lemma-dependency factors-combine factor-weight skip "
    "special-vocab transformer-aan-activation transformer-aan-depth transformer-aan-nogate "
    "transformer-depth-scaling transformer-dim-aan transformer-guided-alignment-layer ulr-trainable-transformation "
    "version "
    "bert-train-type-embeddings bert-type-vocab-size bert-mask-symbol bert-sep-symbol bert-class-symbol "
    "bert-masking-fraction";

/// Further options of Bergamot's config of a student: those of speed, of sentence splitting, and the precision, which
/// `--precision` chooses.
inline constexpr std::string_view kNeutralStudentOptions =
    "gemm-precision max-length-break skip-cost ssplit-mode ssplit-prefix-file";

/// Options of marian-decoder for speed, memory, logs and the form of its output.
inline constexpr std::string_view kNeutralDecoderOptions =
    "alignment cpu-threads data-threads devices fp16 input interpolate-env-vars log log-level log-time-zone "
    "max-length-crop maxi-batch maxi-batch-sort mini-batch mini-batch-words model-mmap n-best num-devices "
    "optimize output precision quiet quiet-translation relative-paths seed sqlite stat-freq version "
    "word-scores workspace";

}  // namespace edgewise
