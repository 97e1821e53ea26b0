"""Names of quantities in other languages, and names of several words that are written as one."""

# ruff: noqa: E501  letters twice as wide as others

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache

# English: as German, French, Spanish, Portuguese, Italian, Dutch, Polish, Russian, Chinese, Japanese, Korean
# have it; an underscore is any mark between words
_IN = {
    "params": "parametro parametros paramètres parámetros parâmetros parametri parametrów параметры параметров"
              " 参数量 参数 參數量 參數 パラメータ モデルサイズ 파라미터 매개변수",
    "tokens": "jetons токены токенов トークン 토큰 词元 令牌 詞元",
    "examples": "beispiele exemples ejemplos exemplos esempi voorbeelden przykładów примеров",
    "samples": "stichproben muestras amostras échantillons campioni próbek 样本数 样本量 样本 樣本 サンプル 샘플",
    "images": "bilder imágenes imagens immagini afbeeldingen изображений 图像 图片 画像 枚数",
    "train": "entraînement apprentissage entrenamiento treino treinamento addestramento trainings"
             " обучения обучающей 训练 訓練 学習 학습 훈련",
    "val": "validierung validação validación validazione validatie walidacja валидации 验证集 验证 驗證 検証 검증",
    "test": "prueba teste testowy testu 测试集 测试 測試 テスト 테스트",
    "loss": "verlust perte pérdida perda perdita verlies потери 损失 損失 손실",
    "error": "fehlerrate fehler erreur errore erro fout błąd błędu ошибка ошибки 错误率 錯誤率 誤差 誤り率 오류율",
    "accuracy": "genauigkeit exactitude exactitud acurácia précision precisión accuratezza nauwkeurigheid"
                " dokładność точность 准确率 準確率 精度 正解率 정확도",
    "perplexity": "perplexität perplexité perplejidad perplexidade perplessità перплексия 困惑度",
    "width": "breite largeur ancho anchura largura larghezza breedte szerokość ширина 宽度 寬度 너비",
    "depth": "tiefe profondeur profundidad profundidade profondità diepte głębokość глубина 深度 層数 깊이",
    "steps": "schritte pasos passos étapes шагов 步数 ステップ数",
    "epoch": "epoche époque época эпоха エポック", "epochs": "epochen époques épocas эпох 轮数",
    "seed": "semilla graine seme semente ziarno сид 种子 シード 시드",
    "size": "größe groesse taille tamaño tamanho dimensione grootte rozmiar размер 规模",
    "data": "daten données datos dados dati gegevens danych данных 数据 數據 データ 데이터",
    "dataset": "datensatz datensätze 数据集 數據集 データセット 데이터셋",
    "data size": "datensatzgröße datensatzgroesse datenmenge 数据量 數據量 データ数 データ量",
    "model": "modèle modelo modello модель модели 模型 モデル 모델",
    "model size": "modellgröße modellgroesse", "train examples": "trainingsbeispiele",
    "train data": "trainingsdaten", "test error": "testfout", "train size": "trainingsgröße",
    "learning rate": "lernrate taux_apprentissage tasa_de_aprendizaje 学习率 學習率 学習率 학습률",
    "compute": "rechenaufwand cómputo вычислений 计算量 計算量",
    "number": "anzahl nombre número numero aantal liczba число количество",
    "hours": "stunden heures horas uren godzin часов 小时 小時", "remark": "bemerkung anmerkung kommentar remarque"
    " commentaire comentario observación observação opmerking uwagi примечание 备注 備註 備考 비고",
    "of": "de del della di des du von van", "on": "на", "run": "lauf läufe", "": "数 量",
}  # fmt: skip
# what has to follow: loss_de is one of German, and n_trainings has none of it
_BEFORE_MORE = {**dict.fromkeys(("of", "on"), r"(?=[\W_]+\w)"), "trainings": r"(?=[\W_]*[^\W_])"}
_ONLY_WITH_ACCENT = ("précision", "precisión")  # without one, a setting
SHORT = 6  # letters: a shorter word in letters is a whole word, perda but not superdata
_FIRST = "n|num|nb|train|training|test|val|valid|eval|dev|model|total|final|best|mean|avg|min|data|batch"
_LAST = (
    "toks?|tokens?|params?|parameters?|examples?|samples?|images?|imgs?|flops?|loss|err|error|acc|accuracy|ppl"
    "|perplexity|size|steps?|nll|bpb|train"
)
_COMPOUND = re.compile(rf"(?<![a-z])({_FIRST})({_FIRST})?({_LAST})(?![a-z])")


@cache
def _foreign() -> tuple[re.Pattern[str], dict[str, str]]:
    """What finds a word in another language, the longest first, and the words in English."""
    words = {t: e for e, each in _IN.items() for t in each.split() if t not in _ONLY_WITH_ACCENT}
    patterns = []
    for theirs in sorted(words, key=len, reverse=True):
        short = theirs.isalpha() and theirs < "一" and len(theirs) < SHORT
        whole = r"(?<![^\W_]){}(?![^\W_])" if short else "{}"
        whole += _BEFORE_MORE.get(words[theirs] if theirs != "trainings" else theirs, "")
        patterns.append(whole.format(_without_accents(theirs).replace("_", r"[\W_]+")))
    english = {_without_accents(theirs): english for theirs, english in words.items()}
    return re.compile("|".join(patterns), re.IGNORECASE), english


def _without_accents(text: str) -> str:
    """é is e, ß is ss, and full-width letters are those of ASCII."""
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(c for c in decomposed if not unicodedata.combining(c)).replace("ß", "ss")


@lru_cache(maxsize=1 << 14)
def in_english(name: str) -> str:
    """The words of a name in English, in small letters with underscores between them.

    >>> [in_english(n) for n in ("Testfehler", "valLoss", "ntok", "taux d'apprentissage", "perte_de_test")]
    ['test_error', 'val_loss', 'n_tok', 'learning_rate', 'loss_of_test']
    """
    for word in _ONLY_WITH_ACCENT:
        name = re.sub(word, " accuracy ", unicodedata.normalize("NFC", name), flags=re.IGNORECASE)
    name = re.sub(r"\b[dl]['’](?=\w)", "", name if name.isascii() else _without_accents(name))
    foreign, english = _foreign()
    name = foreign.sub(
        lambda m: f" {english[re.sub('[^a-z0-9]+', '_', m[0].lower()) if m[0].isascii() else m[0].lower()]} ",
        name,
    )
    words = re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()).strip("_")
    return _COMPOUND.sub(lambda m: "_".join(filter(None, m.groups())), words)
