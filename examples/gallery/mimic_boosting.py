"""
Mimicking a boosted model
=========================

A boosted model is in use, and somebody asks what it does. A model tree that is fitted to its *predictions*
answers, and says how faithful the answer is. 569 tumors; the table ships with scikit-learn.
"""

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from glassleaf import ModelTreeClassifier, mimic

data = load_breast_cancer(as_frame=True)
X = data.data[[name for name in data.data if name.startswith("mean")]]
y = data.target_names[data.target]
train, test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
teacher = HistGradientBoostingClassifier(max_iter=60, random_state=0).fit(train, y_train)

# %%
# The student
# -----------
# It never sees the diagnosis, only what the teacher says of each row.
found = mimic(teacher, train, max_numbers=15)
found.student

# %%
# How faithful it is, on rows that it was not fitted on
# -----------------------------------------------------
fidelity = found.fidelity
print(
    f"R² of the teacher's probabilities {fidelity.r2:.3f}, the same label for {fidelity.agreement:.1%}"
)
print(f"mean difference {fidelity.mean_difference:.3f}, on {fidelity.rows} rows")

# %%
# Where they are apart is where the student is no explanation: look at those rows first.
malignant = list(teacher.classes_).index("malignant")
of_teacher = teacher.predict_proba(test)[:, malignant]
of_student = found.student.predict_proba(test)[:, list(found.student.classes_).index("malignant")]
figure, axes = plt.subplots(figsize=(4.2, 4))
axes.plot([0, 1], [0, 1], color="#cccccc")
axes.plot(of_teacher, of_student, ".", color="#0b4f9e")
axes.set(xlabel="P(malignant), teacher", ylabel="P(malignant), student")

# %%
# Do you need the teacher?
# ------------------------
# A tree that is fitted to the diagnoses themselves may do as well, and then there is nothing to mimic.
own = ModelTreeClassifier(max_numbers=15, positive_class="malignant").fit(train, y_train)
of_own = own.predict_proba(test)[:, list(own.classes_).index("malignant")]
truth = y_test == "malignant"
pd.Series(
    {
        "teacher": roc_auc_score(truth, of_teacher),
        "student of 15 numbers": roc_auc_score(truth, of_student),
        "fitted to the diagnoses, 15 numbers": roc_auc_score(truth, of_own),
    },
    name="AUC on test rows",
).round(3).to_frame()
